import ImgClient
import ImgModel
import ImgSystem

/// The destination of previews: they replace each other in the file of the command's thumbnail, and each has
/// a line of JSON.
final class PreviewOutput {
  private let destination: PictureOutput
  private let context: CommandContext
  /// The file as it was before the first preview.
  private var backup: FileBackup?
  /// Whether the file takes no previews: it is a device or a pipe, or it cannot be written.
  private var isFileLeftAlone: Bool

  init(_ destination: PictureOutput, in context: CommandContext) {
    self.destination = destination
    self.context = context
    let status = destination.path.flatMap { try? FileStatus(following: $0) }
    isFileLeftAlone = status?.isRegularFile == false
  }

  /// A preview that cannot be written is dropped: the thumbnail will say why it cannot be written, too.
  func show(_ preview: PicturePreview) {
    if let path = destination.path, !isFileLeftAlone {
      do throws(SystemError) {
        if backup == nil { backup = try FileBackup(of: path) }
        try FileIO.replace(path: path, with: preview.bytes)
      } catch {
        isFileLeftAlone = true
        context.note("imgctl: no previews in \(path): \(error)\n")
      }
    }
    if destination.isJSON {
      try? context.output.write(json: PreviewReport(preview))
      try? context.output.flush()
    }
  }

  /// The thumbnail has replaced the previews.
  func finish() {
    backup.take()?.discard()
  }

  /// There is no thumbnail: the file becomes what it was before.
  func undo() throws(SystemError) {
    try backup.take()?.restore()
  }
}
