import ImgModel
import ImgSystem
import ImgWire
import Synchronization

/// A list that is sent from a thread of its own, over a connection of its own, so that neither a long list
/// nor one that is read slowly delays other requests.
final class JobSubmission: Sendable {
  private typealias Job = Result<JobID, ImageError>

  private enum Stage {
    case created
    case waiting(CheckedContinuation<Job, Never>)
    /// The task has its answer, or was cancelled.
    case ended
  }

  private struct State {
    var stage = Stage.created
    /// Whether the coordinator may have the whole list.
    var isListSent = false
    /// The connection while it may be shut down.
    var socket: CInt?

    mutating func end() -> CheckedContinuation<Job, Never>? {
      defer { stage = .ended }
      if case .waiting(let continuation) = stage { return continuation }
      return nil
    }

    var hasEnded: Bool { if case .ended = stage { true } else { false } }
  }

  private let name: String?
  private let options: RequestOptions
  private let order: LineOrder
  private let state = Mutex(State())

  init(name: String?, options: RequestOptions, order: LineOrder) {
    self.name = name
    self.options = options
    self.order = order
  }

  /// Submits the list, once.
  ///
  /// - Parameter connect: makes a connection; may block.
  /// - Returns: when the job is durable.
  func job(
    of urls: some Sequence<String> & Sendable,
    connect: @escaping @Sendable () throws(ClientError) -> Client
  ) async throws(ImageError) -> JobID {
    let job = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard wait(continuation) else {
          return continuation.resume(returning: .failure(.cancelled(nil)))
        }
        start(urls, connect)
      }
    } onCancel: {
      cancel()
    }
    return try job.get()
  }

  private func wait(_ continuation: CheckedContinuation<Job, Never>) -> Bool {
    state.withLock { state in
      guard !state.hasEnded else { return false }
      state.stage = .waiting(continuation)
      return true
    }
  }

  /// Ends the thread, too, which may wait for the coordinator.
  private func cancel() {
    let (continuation, isListSent) = state.withLock { state in
      if let socket = state.socket { StreamSocket.shutDown(socket) }
      return (state.end(), state.isListSent)
    }
    continuation?.resume(returning: .failure(isListSent ? .cancelledAfterList : .cancelled(nil)))
  }

  private func end(_ job: Job) {
    state.withLock { $0.end() }?.resume(returning: job)
  }

  // MARK: - The thread

  private func start(
    _ urls: some Sequence<String> & Sendable,
    _ connect: @escaping @Sendable () throws(ClientError) -> Client
  ) {
    do throws(SystemError) {
      _ = try ServiceThread<Never>(name: "imgclient-list", capacity: 1) { [self] _ in
        send(urls, connect)
      }
    } catch {
      end(.failure(ImageError(code: .internal, isRetryable: true, message: "\(error)")))
    }
  }

  private func send(
    _ urls: some Sequence<String>, _ connect: () throws(ClientError) -> Client
  ) {
    do {
      var batches = SubmissionBatches(urls.makeIterator())
      var first = batches.next()
      guard first != nil else { throw ImageError.emptyList }
      let client = try connect()
      try adopt(client)
      defer { state.withLock { $0.socket = nil } }
      let submitted = try client.submit(name: name, options: options, order: order) {
        if let batch = first.take() ?? batches.next() { return batch }
        try listEnds()
        return nil
      }
      end(.success(submitted.job))
    } catch let error as ImageError {
      end(.failure(error))
    } catch let error as ClientError {
      end(.failure(ImageError(error, url: nil)))
    } catch {
      end(.failure(ImageError(code: .internal, message: "\(error)")))
    }
  }

  private func adopt(_ client: Client) throws(ImageError) {
    try state.withLock { state throws(ImageError) in
      guard !state.hasEnded else { throw .cancelled(nil) }
      state.socket = client.descriptor
    }
  }

  /// Only a list whose end is sent becomes a job.
  private func listEnds() throws(ImageError) {
    try state.withLock { state throws(ImageError) in
      guard !state.hasEnded else { throw .cancelled(nil) }
      state.isListSent = true
    }
  }
}

extension ImageError {
  /// The task was cancelled when the coordinator may have had the whole list.
  fileprivate static var cancelledAfterList: ImageError {
    ImageError(
      code: .cancelled,
      message:
        "the submission was cancelled after the list was sent; whether it was accepted is not "
        + "known: imgctl list tells")
  }
}
