import Glibc
import ImgCoordinator

exit(CoordinatorMain.run(arguments: Array(CommandLine.arguments.dropFirst())))
