"""The functions of the package, made by make_functions.py from bodies in _calls.py and options of the program."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Optional, Union

from . import _calls, results
from ._calls import Bounds, Document, Items, Planner, Planners, Setting, with_signature
from .types import Comparison, LargestSize, Planning, Simulation, SizeComparison

__all__ = ["plan", "simulate", "evaluate", "bounds", "compare", "max_batch", "check", "study"]


@with_signature(_calls.plan)
def plan(model: Document, platform: Document, planner: Planner, *, precision: Optional[Setting] = None,
         sequence: Optional[Setting] = None, granularity: Optional[Setting] = None, selective_recompute: bool = False,
         speed: Optional[Items] = None, schedule: Optional[Setting] = None, microbatches: Optional[Setting] = None,
         global_batch: Optional[Setting] = None, samples_per_update: Optional[Setting] = None,
         run_length: Optional[Setting] = None, microbatch_size: Optional[Setting] = None,
         tensor: Optional[Setting] = None, sequence_parallel: Optional[bool] = None, context: Optional[Setting] = None,
         context_attention: Optional[Setting] = None, expert: Optional[Setting] = None,
         imbalance: Optional[Setting] = None, capacity: Optional[Setting] = None, zero: Optional[Setting] = None,
         memory: Optional[Setting] = None, training: Optional[Setting] = None,
         planner_time_limit: Optional[Setting] = None, search: Optional[Setting] = None, set: Optional[Items] = None,
         despite_memory: bool = False, output: Optional[Setting] = None, no_timings: bool = False) -> Planning:
    """Makes a plan with one planner: a name, `exec:PATH`, or a function from a `Request` to a `Plan`.

    Options are those of `stagecraft plan`, with `_` for `-`: `plan(..., schedule="1f1b", global_batch=64)`. A model or
    a platform is a name, a path, a value of `stagecraft.types`, or a JSON document. Returns a `Planning`.

    The options, in the words of `stagecraft plan --help`:

        precision: of a network, or of a computed model file without figures: fp32, tf32, bf16, fp16 or fp8;
            default: bf16 or else fp16 where devices have it; the file's
        sequence: of a network, or of a computed model file without figures: tokens in a sample; default: the
            network's; the file's
        granularity: of a network, or of a computed model file without figures: what one layer stands for: operator,
            layer, residual or block; default: layer; the file's
        selective_recompute: of a network, or of a computed model file without figures: the backward computes
            attention that is not fused again, and its scores are not kept
        speed: KIND=X: speed of a kind of device relative to the others, in place of the platform's; may be repeated
        schedule: schedule, with parameters as NAME,K=V,...; default: the planner's own
        microbatches: microbatches in an iteration over all replicas, or the least length of an asynchronous run;
            default: 4 per device, and for an asynchronous run at least as many as it takes to measure its period
        global_batch: samples in an iteration, instead of --microbatches; must be a multiple of the samples of a
            microbatch
        samples_per_update: samples whose gradients one update sums up: sets the microbatches of an iteration, or
            the rounds after which an asynchronous plan updates
        run_length: microbatches of an asynchronous run, exactly; default: until its period has converged
        microbatch_size: samples in a microbatch, or auto: each planner's fastest of several sizes, which needs
            --global-batch or --samples-per-update; default: the smallest size that the model file gives. Groups of
            more --expert devices than --tensor times --context run several such at once
        tensor: devices that divide each layer's weights and run one microbatch together, or auto: each planner's
            fastest number; default: 1
        sequence_parallel: whether they divide by tokens what they do not divide by weights: true (default) or false
        context: devices that divide the tokens of each sample, times those of --tensor; default: 1
        context_attention: how they attend to the tokens of each other: ring (default): keys and values pass around
            while each attends; all-gather: each gathers them all; all-to-all: each gets some of the heads for all
            tokens
        expert: devices that divide the experts of each block: a divisor of --tensor times --context, or a multiple,
            whose further devices have microbatches of their own; default: 1
        imbalance: how many times the mean of tokens the busiest of these gets; default: 1
        capacity: in place of --imbalance: how many times the mean of tokens each expert gets, padded or dropped;
            default: none
        zero: what the replicas of a stage divide instead of each keeping a copy: 1 the optimizer's state, 2
            gradients too, 3 weights too; default: 0, nothing. The same as the key zero of --training
        memory: what a plan that does not fit may do: keep: nothing; recompute: make stashes again; swap: bring them
            to the host; cheapest (default): whatever takes the least time. A plan that memory does not limit does
            nothing
        training: K=V,...: how much training keeps in memory; keys and defaults: gradient_copies (1),
            optimizer_copies (2), boundary_buffers (2), input_gradient_release (0); and gradient_bucket, the size of
            the parts in which replicas exchange gradients during the backward (0: all after it; default: the
            planner's own); and stash: autograd, what the model file says that layers keep and need (default), or
            input, the bytes of their inputs only; and recipe, the optimizer's, which gives the copies: fp32,
            sgd-momentum, mixed, mixed-16, mixed-16-accumulate-32 or pure-16 (default: mixed for a model with
            parameters of 2 bytes); and zero, as --zero
        planner_time_limit: time limit for an external planner (exec:PATH), such as '90 s'; default: 10 min
        search: AXIS,...: plan with all values of these (tensor=2:8: with those from 2 to 8), and take the plan with
            the most samples/s without contention: tensor, context, expert, zero, memory (keep or recompute; also
            called recompute), microbatch_size
        set: NAME=VALUE,...: set platform.PATH or model.PATH, a value of a file; [PLANNER.]KEY, an option of a
            planner; may be repeated
        despite_memory: if no plan fits, make the one for devices with the least memory with which there is one
        output: write the plan to this file, as JSON if its name ends in .json
        no_timings: omit the times that planning and replaying took
    """


@with_signature(_calls.simulate)
def simulate(plan: Document, *, model: Optional[Document] = None, platform: Optional[Document] = None,
             speed: Optional[Items] = None, set: Optional[Items] = None, engine: Optional[Setting] = None,
             network: Optional[Setting] = None, iterations: Optional[Setting] = None, replan: Optional[Setting] = None,
             events: Optional[Document] = None, noise_seed: Optional[Setting] = None,
             samples_per_update: Optional[Setting] = None, run_length: Optional[Setting] = None,
             schedule_file: Optional[Document] = None, sends: Optional[Setting] = None, verify_steady: bool = False,
             timeline: bool = False, transfers: bool = False, timeline_window: Optional[Setting] = None,
             trace: Optional[Setting] = None, report: Optional[Setting] = None, picture: Optional[Setting] = None,
             apply: Optional[Setting] = None, output: Optional[Setting] = None, no_timings: bool = False) -> Simulation:
    """Replays a plan: a `Planning`, a `Plan`, a path or a JSON document. Options are those of `stagecraft simulate`.
    Returns a `Simulation`.

    The options, in the words of `stagecraft simulate --help`:

        model: its model: a model file, an architecture file or a config.json, or the name of a shipped file or of a
            network; default: the one that the plan names
        platform: its platform: a file, or the name of a shipped one; default: the one that the plan names
        speed: KIND=X: speed of a kind of device relative to the others, in place of the platform's; may be repeated
        set: NAME=VALUE,...: set platform.PATH or model.PATH, a value of a file; may be repeated
        engine: replay: SimGrid, transfers share links; evaluate: no contention
        network: platform: transfers cross the platform's links; analytic: one exclusive channel for each stage
            boundary
        iterations: iterations of a synchronous schedule; the figures are those of the last one
        replan: PLANNER,K=V,...: ask this planner for another plan while training runs, with its options and those
            that say when: window (256 microbatches), imbalance, patience, gain (0.02), horizon, latency; how:
            migrate=live, stop-copy or restart, restart; checkpoints: checkpoint, save; after a failure: leave (10
            s), restart; none: keep the plan
        events: file of events during the run: slowdowns, changes of bandwidth, memory, model and microbatches,
            failures, noise, work
        noise_seed: N: changes the noise of the events file; each N gives different noise
        samples_per_update: samples whose gradients one update sums up: sets the microbatches of an iteration, or
            the rounds after which an asynchronous plan updates
        run_length: microbatches of an asynchronous run, exactly; default: until its period has converged
        schedule_file: the orders of this file, which may be a .csv of PyTorch, instead of the plan's schedule
        sends: when transfers start: eager, rendezvous, explicit, stream or blocking (default: as the file says, or
            eager)
        verify_steady: simulate a long run to its end even where its state comes again, and say what differs
        timeline: draw the last iteration; with --json, list every operation of the run
        transfers: like --timeline, with rows for transfers
        timeline_window: FROM..TO, such as '1.5 s..2 s': like --timeline, for this part of the run
        trace: write the run as a trace for Perfetto to this file
        report: write the run as a page to this file: timeline, memory and links over time, what waits for what
        picture: draw the computations of each device as an SVG image to this file; with --timeline-window a part of
            the run
        apply: N: of a plan that is out of memory, write to --output what it is with the N-th of the changes that
            would make it fit
        output: write the changed plan to this file, as JSON if its name ends in .json; - is standard output
        no_timings: omit the times that planning and replaying took
    """


@with_signature(_calls.evaluate)
def evaluate(plan: Document, *, model: Optional[Document] = None, platform: Optional[Document] = None,
             speed: Optional[Items] = None, set: Optional[Items] = None, network: Optional[Setting] = None,
             iterations: Optional[Setting] = None, replan: Optional[Setting] = None, events: Optional[Document] = None,
             noise_seed: Optional[Setting] = None, samples_per_update: Optional[Setting] = None,
             run_length: Optional[Setting] = None, schedule_file: Optional[Document] = None,
             sends: Optional[Setting] = None, verify_steady: bool = False, timeline: bool = False,
             transfers: bool = False, timeline_window: Optional[Setting] = None, trace: Optional[Setting] = None,
             report: Optional[Setting] = None, picture: Optional[Setting] = None, apply: Optional[Setting] = None,
             output: Optional[Setting] = None, no_timings: bool = False) -> Simulation:
    """The same without contention: every transfer has the whole bandwidth of its links.

    The options, in the words of `stagecraft simulate --help`:

        model: its model: a model file, an architecture file or a config.json, or the name of a shipped file or of a
            network; default: the one that the plan names
        platform: its platform: a file, or the name of a shipped one; default: the one that the plan names
        speed: KIND=X: speed of a kind of device relative to the others, in place of the platform's; may be repeated
        set: NAME=VALUE,...: set platform.PATH or model.PATH, a value of a file; may be repeated
        network: platform: transfers cross the platform's links; analytic: one exclusive channel for each stage
            boundary
        iterations: iterations of a synchronous schedule; the figures are those of the last one
        replan: PLANNER,K=V,...: ask this planner for another plan while training runs, with its options and those
            that say when: window (256 microbatches), imbalance, patience, gain (0.02), horizon, latency; how:
            migrate=live, stop-copy or restart, restart; checkpoints: checkpoint, save; after a failure: leave (10
            s), restart; none: keep the plan
        events: file of events during the run: slowdowns, changes of bandwidth, memory, model and microbatches,
            failures, noise, work
        noise_seed: N: changes the noise of the events file; each N gives different noise
        samples_per_update: samples whose gradients one update sums up: sets the microbatches of an iteration, or
            the rounds after which an asynchronous plan updates
        run_length: microbatches of an asynchronous run, exactly; default: until its period has converged
        schedule_file: the orders of this file, which may be a .csv of PyTorch, instead of the plan's schedule
        sends: when transfers start: eager, rendezvous, explicit, stream or blocking (default: as the file says, or
            eager)
        verify_steady: simulate a long run to its end even where its state comes again, and say what differs
        timeline: draw the last iteration; with --json, list every operation of the run
        transfers: like --timeline, with rows for transfers
        timeline_window: FROM..TO, such as '1.5 s..2 s': like --timeline, for this part of the run
        trace: write the run as a trace for Perfetto to this file
        report: write the run as a page to this file: timeline, memory and links over time, what waits for what
        picture: draw the computations of each device as an SVG image to this file; with --timeline-window a part of
            the run
        apply: N: of a plan that is out of memory, write to --output what it is with the N-th of the changes that
            would make it fit
        output: write the changed plan to this file, as JSON if its name ends in .json; - is standard output
        no_timings: omit the times that planning and replaying took
    """


@with_signature(_calls.bounds)
def bounds(plan: Document, *, model: Optional[Document] = None, platform: Optional[Document] = None,
           speed: Optional[Items] = None, set: Optional[Items] = None, engine: Optional[Setting] = None,
           network: Optional[Setting] = None, iterations: Optional[Setting] = None, replan: Optional[Setting] = None,
           events: Optional[Document] = None, noise_seed: Optional[Setting] = None,
           samples_per_update: Optional[Setting] = None, run_length: Optional[Setting] = None,
           schedule_file: Optional[Document] = None, sends: Optional[Setting] = None, verify_steady: bool = False,
           timeline: bool = False, transfers: bool = False, timeline_window: Optional[Setting] = None,
           trace: Optional[Setting] = None, report: Optional[Setting] = None, picture: Optional[Setting] = None,
           apply: Optional[Setting] = None, output: Optional[Setting] = None, no_timings: bool = False) -> Bounds:
    """The lower bounds below the time that `simulate` gives, with its options. Returns `Bounds`.

    The options, in the words of `stagecraft simulate --help`:

        model: its model: a model file, an architecture file or a config.json, or the name of a shipped file or of a
            network; default: the one that the plan names
        platform: its platform: a file, or the name of a shipped one; default: the one that the plan names
        speed: KIND=X: speed of a kind of device relative to the others, in place of the platform's; may be repeated
        set: NAME=VALUE,...: set platform.PATH or model.PATH, a value of a file; may be repeated
        engine: replay: SimGrid, transfers share links; evaluate: no contention
        network: platform: transfers cross the platform's links; analytic: one exclusive channel for each stage
            boundary
        iterations: iterations of a synchronous schedule; the figures are those of the last one
        replan: PLANNER,K=V,...: ask this planner for another plan while training runs, with its options and those
            that say when: window (256 microbatches), imbalance, patience, gain (0.02), horizon, latency; how:
            migrate=live, stop-copy or restart, restart; checkpoints: checkpoint, save; after a failure: leave (10
            s), restart; none: keep the plan
        events: file of events during the run: slowdowns, changes of bandwidth, memory, model and microbatches,
            failures, noise, work
        noise_seed: N: changes the noise of the events file; each N gives different noise
        samples_per_update: samples whose gradients one update sums up: sets the microbatches of an iteration, or
            the rounds after which an asynchronous plan updates
        run_length: microbatches of an asynchronous run, exactly; default: until its period has converged
        schedule_file: the orders of this file, which may be a .csv of PyTorch, instead of the plan's schedule
        sends: when transfers start: eager, rendezvous, explicit, stream or blocking (default: as the file says, or
            eager)
        verify_steady: simulate a long run to its end even where its state comes again, and say what differs
        timeline: draw the last iteration; with --json, list every operation of the run
        transfers: like --timeline, with rows for transfers
        timeline_window: FROM..TO, such as '1.5 s..2 s': like --timeline, for this part of the run
        trace: write the run as a trace for Perfetto to this file
        report: write the run as a page to this file: timeline, memory and links over time, what waits for what
        picture: draw the computations of each device as an SVG image to this file; with --timeline-window a part of
            the run
        apply: N: of a plan that is out of memory, write to --output what it is with the N-th of the changes that
            would make it fit
        output: write the changed plan to this file, as JSON if its name ends in .json; - is standard output
        no_timings: omit the times that planning and replaying took
    """


@with_signature(_calls.compare)
def compare(model: Union[Document, Iterable[Document]], platform: Document, planners: Optional[Planners] = None, *,
            precision: Optional[Setting] = None, sequence: Optional[Setting] = None,
            granularity: Optional[Setting] = None, selective_recompute: bool = False, speed: Optional[Items] = None,
            schedules: Optional[Setting] = None, schedule: Optional[Setting] = None,
            microbatches: Optional[Setting] = None, global_batch: Optional[Setting] = None,
            samples_per_update: Optional[Setting] = None, run_length: Optional[Setting] = None,
            microbatch_size: Optional[Setting] = None, tensor: Optional[Setting] = None,
            sequence_parallel: Optional[bool] = None, context: Optional[Setting] = None,
            context_attention: Optional[Setting] = None, expert: Optional[Setting] = None,
            imbalance: Optional[Setting] = None, capacity: Optional[Setting] = None, zero: Optional[Setting] = None,
            memory: Optional[Setting] = None, training: Optional[Setting] = None,
            planner_time_limit: Optional[Setting] = None, set: Optional[Items] = None, engine: Optional[Setting] = None,
            network: Optional[Setting] = None, iterations: Optional[Setting] = None, replan: Optional[Setting] = None,
            events: Optional[Document] = None, noise_seed: Optional[Setting] = None, sends: Optional[Setting] = None,
            save: Optional[Setting] = None, wide: bool = False, vary: bool = False,
            no_timings: bool = False) -> Comparison:
    """Plans with several planners and replays the plans. Options are those of `stagecraft compare`; `planners` may have
    functions, as in `plan`, and `model` may be a list. Returns a `Comparison`.

    The options, in the words of `stagecraft compare --help`:

        precision: of a network, or of a computed model file without figures: fp32, tf32, bf16, fp16 or fp8;
            default: bf16 or else fp16 where devices have it; the file's
        sequence: of a network, or of a computed model file without figures: tokens in a sample; default: the
            network's; the file's
        granularity: of a network, or of a computed model file without figures: what one layer stands for: operator,
            layer, residual or block; default: layer; the file's
        selective_recompute: of a network, or of a computed model file without figures: the backward computes
            attention that is not fused again, and its scores are not kept
        speed: KIND=X: speed of a kind of device relative to the others, in place of the platform's; may be repeated
        schedules: S,T,...: ask every planner for each of these, in place of --schedule; parameters follow their
            schedule: 1f1b,interleaved-1f1b,chunks=4,zb-v
        schedule: schedule, with parameters as NAME,K=V,...; default: the planner's own
        microbatches: microbatches in an iteration over all replicas, or the least length of an asynchronous run;
            default: 4 per device, and for an asynchronous run at least as many as it takes to measure its period
        global_batch: samples in an iteration, instead of --microbatches; must be a multiple of the samples of a
            microbatch
        samples_per_update: samples whose gradients one update sums up: sets the microbatches of an iteration, or
            the rounds after which an asynchronous plan updates
        run_length: microbatches of an asynchronous run, exactly; default: until its period has converged
        microbatch_size: samples in a microbatch, or auto: each planner's fastest of several sizes, which needs
            --global-batch or --samples-per-update; default: the smallest size that the model file gives. Groups of
            more --expert devices than --tensor times --context run several such at once
        tensor: devices that divide each layer's weights and run one microbatch together, or auto: each planner's
            fastest number; default: 1
        sequence_parallel: whether they divide by tokens what they do not divide by weights: true (default) or false
        context: devices that divide the tokens of each sample, times those of --tensor; default: 1
        context_attention: how they attend to the tokens of each other: ring (default): keys and values pass around
            while each attends; all-gather: each gathers them all; all-to-all: each gets some of the heads for all
            tokens
        expert: devices that divide the experts of each block: a divisor of --tensor times --context, or a multiple,
            whose further devices have microbatches of their own; default: 1
        imbalance: how many times the mean of tokens the busiest of these gets; default: 1
        capacity: in place of --imbalance: how many times the mean of tokens each expert gets, padded or dropped;
            default: none
        zero: what the replicas of a stage divide instead of each keeping a copy: 1 the optimizer's state, 2
            gradients too, 3 weights too; default: 0, nothing. The same as the key zero of --training
        memory: what a plan that does not fit may do: keep: nothing; recompute: make stashes again; swap: bring them
            to the host; cheapest (default): whatever takes the least time. A plan that memory does not limit does
            nothing
        training: K=V,...: how much training keeps in memory; keys and defaults: gradient_copies (1),
            optimizer_copies (2), boundary_buffers (2), input_gradient_release (0); and gradient_bucket, the size of
            the parts in which replicas exchange gradients during the backward (0: all after it; default: the
            planner's own); and stash: autograd, what the model file says that layers keep and need (default), or
            input, the bytes of their inputs only; and recipe, the optimizer's, which gives the copies: fp32,
            sgd-momentum, mixed, mixed-16, mixed-16-accumulate-32 or pure-16 (default: mixed for a model with
            parameters of 2 bytes); and zero, as --zero
        planner_time_limit: time limit for an external planner (exec:PATH), such as '90 s'; default: 10 min
        set: NAME=VALUE,...: set platform.PATH or model.PATH, a value of a file; [PLANNER.]KEY, an option of a
            planner; may be repeated
        engine: replay: SimGrid, transfers share links; evaluate: no contention
        network: platform: transfers cross the platform's links; analytic: one exclusive channel for each stage
            boundary
        iterations: iterations of a synchronous schedule; the figures are those of the last one
        replan: PLANNER,K=V,...: ask this planner for another plan while training runs, with its options and those
            that say when: window (256 microbatches), imbalance, patience, gain (0.02), horizon, latency; how:
            migrate=live, stop-copy or restart, restart; checkpoints: checkpoint, save; after a failure: leave (10
            s), restart; none: keep the plan
        events: file of events during the run: slowdowns, changes of bandwidth, memory, model and microbatches,
            failures, noise, work
        noise_seed: N: changes the noise of the events file; each N gives different noise
        sends: when transfers start: eager, rendezvous, explicit, stream or blocking (default: eager)
        save: keep each plan in this folder, as PLANNER.yaml or PLANNER-with-SCHEDULE.yaml; with several models in a
            folder of each
        wide: all columns: schedule, microbatches, updates, times and outcome too
        vary: simulate the plans on varied inputs too: does the winner survive other bandwidths, speeds, latencies?
        no_timings: omit the times that planning and replaying took
    """


@with_signature(_calls.max_batch)
def max_batch(model: Document, platform: Document, planner: Optional[Planner] = None, *,
              precision: Optional[Setting] = None, sequence: Optional[Setting] = None,
              granularity: Optional[Setting] = None, selective_recompute: bool = False, speed: Optional[Items] = None,
              planners: Optional[Planners] = None, schedule: Optional[Setting] = None,
              microbatches: Optional[Setting] = None, global_batch: Optional[Setting] = None,
              samples_per_update: Optional[Setting] = None, run_length: Optional[Setting] = None,
              tensor: Optional[Setting] = None, sequence_parallel: Optional[bool] = None,
              context: Optional[Setting] = None, context_attention: Optional[Setting] = None,
              expert: Optional[Setting] = None, imbalance: Optional[Setting] = None, capacity: Optional[Setting] = None,
              zero: Optional[Setting] = None, memory: Optional[Setting] = None, training: Optional[Setting] = None,
              planner_time_limit: Optional[Setting] = None, set: Optional[Items] = None,
              tries: Optional[Setting] = None, curve: bool = False, simulate: bool = False,
              output: Optional[Setting] = None, no_timings: bool = False) -> Union[LargestSize, SizeComparison]:
    """The largest microbatch that fits. Options are those of `stagecraft max-batch`. Returns a `LargestSize`, or
    without a planner, and with `curve`, a `SizeComparison`.

    The options, in the words of `stagecraft max-batch --help`:

        precision: of a network, or of a computed model file without figures: fp32, tf32, bf16, fp16 or fp8;
            default: bf16 or else fp16 where devices have it; the file's
        sequence: of a network, or of a computed model file without figures: tokens in a sample; default: the
            network's; the file's
        granularity: of a network, or of a computed model file without figures: what one layer stands for: operator,
            layer, residual or block; default: layer; the file's
        selective_recompute: of a network, or of a computed model file without figures: the backward computes
            attention that is not fused again, and its scores are not kept
        speed: KIND=X: speed of a kind of device relative to the others, in place of the platform's; may be repeated
        planners: A,B,...: planners to compare, in place of --planner
        schedule: schedule, with parameters as NAME,K=V,...; default: the planner's own
        microbatches: microbatches in an iteration over all replicas, or the least length of an asynchronous run;
            default: 4 per device, and for an asynchronous run at least as many as it takes to measure its period
        global_batch: samples in an iteration, instead of --microbatches; must be a multiple of the samples of a
            microbatch
        samples_per_update: samples whose gradients one update sums up: sets the microbatches of an iteration, or
            the rounds after which an asynchronous plan updates
        run_length: microbatches of an asynchronous run, exactly; default: until its period has converged
        tensor: devices that divide each layer's weights and run one microbatch together; default: 1
        sequence_parallel: whether they divide by tokens what they do not divide by weights: true (default) or false
        context: devices that divide the tokens of each sample, times those of --tensor; default: 1
        context_attention: how they attend to the tokens of each other: ring (default): keys and values pass around
            while each attends; all-gather: each gathers them all; all-to-all: each gets some of the heads for all
            tokens
        expert: devices that divide the experts of each block: a divisor of --tensor times --context, or a multiple,
            whose further devices have microbatches of their own; default: 1
        imbalance: how many times the mean of tokens the busiest of these gets; default: 1
        capacity: in place of --imbalance: how many times the mean of tokens each expert gets, padded or dropped;
            default: none
        zero: what the replicas of a stage divide instead of each keeping a copy: 1 the optimizer's state, 2
            gradients too, 3 weights too; default: 0, nothing. The same as the key zero of --training
        memory: what a plan that does not fit may do: keep: nothing; recompute: make stashes again; swap: bring them
            to the host; cheapest (default): whatever takes the least time. A plan that memory does not limit does
            nothing
        training: K=V,...: how much training keeps in memory; keys and defaults: gradient_copies (1),
            optimizer_copies (2), boundary_buffers (2), input_gradient_release (0); and gradient_bucket, the size of
            the parts in which replicas exchange gradients during the backward (0: all after it; default: the
            planner's own); and stash: autograd, what the model file says that layers keep and need (default), or
            input, the bytes of their inputs only; and recipe, the optimizer's, which gives the copies: fp32,
            sgd-momentum, mixed, mixed-16, mixed-16-accumulate-32 or pure-16 (default: mixed for a model with
            parameters of 2 bytes); and zero, as --zero
        planner_time_limit: time limit for an external planner (exec:PATH), such as '90 s'; default: 10 min
        set: NAME=VALUE,...: set platform.PATH or model.PATH, a value of a file; [PLANNER.]KEY, an option of a
            planner; may be repeated
        tries: sizes for which the planner is asked at most; default: as many as the search needs
        curve: the samples/s of the plans for microbatches of one sample up to the largest, and the fastest of these
            sizes
        simulate: replay the plan of every size that fits; a size whose replay runs out of memory does not fit
        output: write the plan at the size found to this file, as JSON if its name ends in .json
        no_timings: omit the times that planning and replaying took
    """


@with_signature(_calls.check)
def check(plan: Document, *, model: Optional[Document] = None, platform: Optional[Document] = None,
          speed: Optional[Items] = None, set: Optional[Items] = None, schedule_file: Optional[Document] = None,
          sends: Optional[Setting] = None, no_timings: bool = False) -> dict:
    """What is wrong with a plan: the `outcome` of `stagecraft check`, and its `violations`, in a dict.

    The options, in the words of `stagecraft check --help`:

        model: its model: a model file, an architecture file or a config.json, or the name of a shipped file or of a
            network; default: the one that the plan names
        platform: its platform: a file, or the name of a shipped one; default: the one that the plan names
        speed: KIND=X: speed of a kind of device relative to the others, in place of the platform's; may be repeated
        set: NAME=VALUE,...: set platform.PATH or model.PATH, a value of a file; may be repeated
        schedule_file: the orders of this file, which may be a .csv of PyTorch, instead of the plan's schedule
        sends: when transfers start: eager, rendezvous, explicit, stream or blocking (default: as the file says, or
            eager)
        no_timings: omit the times that planning and replaying took
    """


@with_signature(_calls.study)
def study(study: Document, out: Union[str, os.PathLike, None] = None, *, resume: bool = False,
          workers: Optional[Setting] = None, executor: Optional[Setting] = None, sbatch: Optional[Items] = None,
          cells_per_task: Optional[Setting] = None, shard: Optional[Setting] = None, set: Optional[Items] = None,
          filter: Optional[Items] = None, dry_run: bool = False, no_timings: bool = False) -> results.Study:
    """Runs a study: the name of a shipped one, a path, or a JSON document, whose models, platforms and events may be
    values, too; the results call those `<NAME>`. Options are those of `stagecraft run`. Results are kept in the folder
    `out`, where `resume=True` goes on with a study that was begun; without `out` they are read and removed. Returns a
    `stagecraft.results.Study`.

    The options, in the words of `stagecraft run --help`:

        resume: continue with the results in the folder: compute the missing cells
        workers: cells computed at a time on this machine; default: one per core
        executor: local: processes on this machine; slurm: job arrays of Slurm
        sbatch: an option of sbatch, such as --sbatch=--partition=batch; may be repeated
        cells_per_task: the least number of cells in a task of Slurm; default: 50
        shard: I/N: compute only part I of N, counted from 1, and do not merge the results
        set: NAME=VALUE,...: set platform.PATH or model.PATH, a value of a file; PLANNER.KEY, an option of a
            planner; any other key of all cells, limits.KEY or seeds.KEY; may be repeated
        filter: KEY=VALUE: compute only cells with that value; may be repeated, and several values of one key are
            alternatives
        dry_run: show the cells and estimate how long they take; write nothing
        no_timings: omit the times that planning and replaying took
    """
