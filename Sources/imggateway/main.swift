import Glibc
import ImgGateway

exit(GatewayMain.run(arguments: Array(CommandLine.arguments.dropFirst())))
