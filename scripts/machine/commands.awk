# The commands of a page that are marked to be run in one world: awk -v world=NAME -f commands.awk PAGE
#
# A block of the shell follows its mark, <!-- run: NAME -->, on the next line.
$0 == "<!-- run: " world " -->" { marked = 1; next }
marked && $0 == "```sh" { inside = 1; marked = 0; printf "echo '== %s:%d'\n", FILENAME, FNR; next }
inside && $0 == "```" { inside = 0; print ""; next }
inside { print }
{ marked = 0 }
