// The part of the run that the timeline and the charts show. All of them show the same part.

export class TimeWindow {
  from: number;
  to: number;
  private readonly listeners: (() => void)[] = [];

  constructor(
    readonly begin: number,
    readonly until: number,
  ) {
    this.from = begin;
    this.to = until;
  }

  get span(): number {
    return this.to - this.from;
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Shows a part as far as it lies within the run, and not less than dates can tell apart. */
  show(from: number, to: number): void {
    const whole = this.until - this.begin;
    const least = Math.max(whole * 1e-9, this.until * 1e-13);
    const span = Math.min(Math.max(to - from, least), whole);
    this.from = Math.min(Math.max(from, this.begin), this.until - span);
    this.to = this.from + span;
    for (const listener of this.listeners) listener();
  }

  fit(): void {
    this.show(this.begin, this.until);
  }

  /** Makes the part `factor` times as long, and keeps one date where it is. */
  zoom(factor: number, at: number = (this.from + this.to) / 2): void {
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  /** Moves by a part of what is shown. */
  pan(part: number): void {
    const by = Math.min(Math.max(part * this.span, this.begin - this.from), this.until - this.to);
    this.show(this.from + by, this.to + by);
  }

  /** Moves, if need be, so that an operation can be seen. */
  reveal(start: number, end: number): void {
    if (end > this.from && start < this.to && end - start < this.span) return;
    const span = Math.max(this.span, (end - start) * 1.2);
    this.show((start + end - span) / 2, (start + end + span) / 2);
  }
}
