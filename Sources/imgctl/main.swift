import Glibc
import ImgCommands

exit(CommandMain.run(arguments: Array(CommandLine.arguments.dropFirst())))
