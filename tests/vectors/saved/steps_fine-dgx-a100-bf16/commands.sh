echo "a script of the user"
