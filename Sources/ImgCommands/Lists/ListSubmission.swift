import ImgClient
import ImgModel
import ImgSettings

/// A list that is read and submitted as one job.
struct ListSubmission: ~Copyable {
  private var list: ListFile
  private var batches: [[String]]

  /// Reads the beginning of the list, because an unreadable or empty one makes no job and needs no
  /// coordinator.
  ///
  /// - Parameters:
  ///   - path: `-` for standard input.
  ///   - command: the command that reads it.
  init(path: String, of command: CommandDescription) throws {
    var list = try ListFile(path: path)
    var batches: [[String]] = []
    while batches.isEmpty {
      guard let next = try list.next() else {
        let name = path == "-" ? "standard input" : path
        throw UsageError("\(command.name): \(name) contains no URL; a list has one URL a line")
      }
      batches = next
    }
    self.batches = batches
    self.list = list
  }

  mutating func submit(
    to client: Client, name: String? = nil, options: RequestOptions,
    order: LineOrder = .firstInFirstOut
  ) throws -> (job: JobID, total: Int) {
    try client.submit(name: name, options: options, order: order) {
      while batches.isEmpty {
        guard let more = try list.next() else { return nil }
        batches = more
      }
      return batches.removeFirst()
    }
  }
}
