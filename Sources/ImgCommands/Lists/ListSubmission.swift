import ImgClient
import ImgModel
import ImgSettings

/// Lists that are read one after the other and submitted as one job.
struct ListSubmission: ~Copyable {
  private var paths: ArraySlice<String>
  /// The list that is being read; `nil` between two.
  private var list: ListFile?
  private var batches: [[String]] = []

  /// Reads the beginning of the lists, because unreadable or empty ones make no job and need no
  /// coordinator.
  ///
  /// - Parameters:
  ///   - paths: at least one; `-` for standard input.
  ///   - command: the command that reads them.
  init(paths: [String], of command: CommandDescription) throws {
    self.paths = paths[...]
    guard paths.count(where: { $0 == "-" }) < 2 else {
      throw UsageError("\(command.name): standard input can be read once")
    }
    for path in paths.dropFirst() { try ListFile.check(path: path) }
    guard try fill() else {
      let names = paths.map { $0 == "-" ? "standard input" : $0 }.joined(separator: ", ")
      let verb = paths.count == 1 ? "contains" : "contain"
      throw UsageError("\(command.name): \(names) \(verb) no URL; a list has one URL a line")
    }
  }

  mutating func submit(
    to client: Client, name: String? = nil, options: RequestOptions,
    order: LineOrder = .firstInFirstOut, pinPolicy: PinPolicy = .none
  ) throws -> (job: JobID, total: Int) {
    try client.submit(name: name, options: options, order: order, pinPolicy: pinPolicy) {
      try fill() ? batches.removeFirst() : nil
    }
  }

  /// Reads on until there is a batch.
  ///
  /// - Returns: `false` at the end of the last list.
  private mutating func fill() throws -> Bool {
    while batches.isEmpty {
      if list == nil {
        guard let path = paths.popFirst() else { return false }
        list = try ListFile(path: path)
      }
      if let more = try list?.next() { batches = more } else { list = nil }
    }
    return true
  }
}
