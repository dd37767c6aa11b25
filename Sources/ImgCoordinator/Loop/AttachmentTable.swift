import ImgScheduler
import ImgSystem

/// The memory files that pass through, by the identifiers that the scheduler knows. A file stays
/// until the scheduler releases it.
final class AttachmentTable {
  private var files: [AttachmentID: MemoryFile] = [:]
  private var last: UInt64 = 0

  var count: Int { files.count }

  func add(_ file: MemoryFile) -> AttachmentID {
    last += 1
    let attachment = AttachmentID(rawValue: last)
    files[attachment] = file
    return attachment
  }

  subscript(attachment: AttachmentID) -> MemoryFile {
    guard let file = files[attachment] else {
      preconditionFailure("an attachment is there until it is released")
    }
    return file
  }

  func release(_ attachment: AttachmentID) {
    let file = files.removeValue(forKey: attachment)
    precondition(file != nil, "an attachment is released once")
  }
}
