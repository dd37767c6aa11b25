import ImgScheduler
import ImgSystem

/// The memory files that pass through, by the identifiers that the scheduler knows. A file stays
/// until the scheduler releases it.
final class MemoryFileTable {
  private var files: [MemoryFileID: PassedFile] = [:]
  private var last: UInt64 = 0

  var count: Int { files.count }

  func add(_ file: PassedFile) -> MemoryFileID {
    last += 1
    let id = MemoryFileID(rawValue: last)
    files[id] = file
    return id
  }

  subscript(id: MemoryFileID) -> PassedFile {
    guard let file = files[id] else {
      preconditionFailure("a memory file is there until it is released")
    }
    return file
  }

  func release(_ id: MemoryFileID) {
    let file = files.removeValue(forKey: id)
    precondition(file != nil, "a memory file is released once")
  }
}
