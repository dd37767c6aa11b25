// Shows the pictures of a list, or of a directory, in the terminal.
//
// usage: terminal-gallery [--sixel | --kitty] [DIRECTORY] [< URLS]
//
// A directory needs a cluster that permits it: imgctl start --allow-directory DIRECTORY

import Glibc
import ImgClient

do {
  let options = try Options(CommandLine.arguments.dropFirst())
  let terminal = Terminal.current()
  let gallery = Gallery(
    client: try ImageClient(), pictures: try options.pictures(),
    grid: Grid(of: terminal, drawnBy: options.output), output: options.output,
    redraws: terminal.isInteractive)
  await gallery.show()
} catch {
  let message = Array("terminal-gallery: \(error)\n".utf8)
  write(STDERR_FILENO, message, message.count)
  exit(1)
}
