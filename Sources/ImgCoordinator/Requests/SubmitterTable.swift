import ImgModel

/// Which client sends the list of a job that is not accepted yet. A client that has sent its whole
/// list may leave before the job is accepted; its entry stays until then.
struct SubmitterTable {
  private var clients: [JobID: ClientID] = [:]

  subscript(job: JobID) -> ClientID? { clients[job] }

  mutating func add(_ client: ClientID, of job: JobID) {
    precondition(clients[job] == nil, "a job has one submitter")
    clients[job] = client
  }

  /// - Returns: the client; `nil` when there was none.
  mutating func remove(_ job: JobID) -> ClientID? {
    clients.removeValue(forKey: job)
  }
}
