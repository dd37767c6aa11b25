public import ImgModel

/// A job after each change until it has ended, see ``ImageJobs/updates(of:)``. Each iteration is a watch of
/// its own.
///
/// The watch ends when its reader's task is cancelled, with ``ImageError/Code/cancelled``, and when its
/// iterator is released.
public struct ImageJobUpdates: AsyncSequence, Sendable {
  private typealias Stream = AsyncThrowingStream<ImageJob, any Error>

  private let id: ImageJob.ID
  private let jobs: ImageJobs

  init(of id: ImageJob.ID, in jobs: ImageJobs) {
    self.id = id
    self.jobs = jobs
  }

  /// Prepares a watch, which begins with the first update that is asked for.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(updates: self)
  }

  /// Begins a watch. It ends with the stream.
  private func stream() -> Stream {
    Stream(bufferingPolicy: .bufferingNewest(1)) { [id, jobs] updates in
      let task = Task {
        do throws(ImageError) {
          try await jobs.served().watchJob(id) { updates.yield($0) }
          updates.finish()
        } catch {
          updates.finish(throwing: error)
        }
      }
      updates.onTermination = { _ in task.cancel() }
    }
  }

  /// One watch.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private let updates: ImageJobUpdates
    private var stream: Stream.Iterator?
    private var last: ImageJob?

    fileprivate init(updates: ImageJobUpdates) {
      self.updates = updates
    }

    /// The job after the next change; `nil` after its end.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(ImageError) -> ImageJob? {
      guard last?.hasEnded != true else { return nil }
      var stream = stream ?? updates.stream().makeAsyncIterator()
      defer { self.stream = stream }
      do {
        // The first update of a further connection may tell nothing new.
        while let job = try await stream.next(isolation: actor) {
          guard job != last else { continue }
          last = job
          return job
        }
      } catch let error as ImageError {
        throw error
      } catch {
        throw ImageError(code: .internal, message: "\(error)")
      }
      // A stream whose reader was cancelled ends without an error.
      throw .cancelled(nil)
    }
  }
}
