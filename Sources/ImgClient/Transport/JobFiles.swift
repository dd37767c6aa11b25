import Glibc
package import ImgModel
package import ImgSystem
import ImgWire
import Synchronization

/// Reads the local files of a job for its coordinator, with the rights of this process: those of the person who has
/// typed the command. Workers can open none of them.
///
/// The coordinator asks for few files at a time, so that no more are in memory than its decoders need. Reading begins
/// at once, and ends with this object.
package final class JobFileReader: Sendable {
  /// Files that are read at a time. A disk that is far away answers several at once.
  private static let threadCount = 4

  private let ends: BlockingQueue<SessionError?>
  private let tasks: [Task<Void, Never>]
  private let pending = Mutex(JobFileReader.threadCount)

  /// - Parameter transport: to a coordinator of this process's user.
  package init(of job: JobID, over transport: ClusterTransport) throws(SystemError) {
    let ends = try BlockingQueue<SessionError?>(capacity: Self.threadCount)
    self.ends = ends
    tasks = (0..<Self.threadCount).map { _ in
      let thread = FileThread()
      return Task { [session = transport.session] in
        do throws(SessionError) {
          try await session.answer(
            .readFiles(of: job), fetchingBy: { wanted in await thread.read(wanted.file) })
          _ = ends.push(nil)
        } catch {
          _ = ends.push(error)
        }
      }
    }
  }

  deinit {
    for task in tasks { task.cancel() }
  }

  /// Waits until the job needs no further file.
  ///
  /// - Returns: whether it needs none; `false` after the deadline.
  /// - Throws: if the coordinator is lost.
  package func waitForEnd(until deadline: ContinuousClock.Instant) throws(ClientError) -> Bool {
    for end in ends.take(upTo: Self.threadCount, until: deadline) ?? [] {
      if case .client(let error) = end { throw error }
      pending.withLock { $0 -= 1 }
    }
    return pending.withLock { $0 == 0 }
  }
}

/// Reads files on a thread of its own, which begins with the first: a file of a network may block it.
private final class FileThread: Sendable {
  private struct Reading: Sendable {
    let file: WantedFile
    let continuation: CheckedContinuation<BroughtPicture, Never>
  }

  private let thread = Mutex<ServiceThread<Reading>?>(nil)

  func read(_ file: WantedFile?) async -> BroughtPicture {
    await withCheckedContinuation { continuation in
      guard let file else {
        return continuation.resume(returning: .failed(Self.failure("no file was named")))
      }
      do throws(SystemError) {
        guard try queue().push(Reading(file: file, continuation: continuation)) else {
          throw SystemError(operation: "read more files at a time", code: 0)
        }
      } catch {
        continuation.resume(returning: .failed(Self.failure("\(error)")))
      }
    }
  }

  private func queue() throws(SystemError) -> BlockingQueue<Reading> {
    try thread.withLock { (thread) throws(SystemError) in
      if let thread { return thread.queue }
      let new = try ServiceThread<Reading>(name: "imgfiles", capacity: 8) { queue in
        while let readings = queue.take(upTo: 1) {
          for reading in readings {
            reading.continuation.resume(returning: Self.bring(reading.file))
          }
        }
      }
      thread = new
      return new.queue
    }
  }

  private static func bring(_ file: WantedFile) -> BroughtPicture {
    do throws(Failure) {
      let url = try ImageURL(parsing: file.url)
      guard url.isReadByCommand, let path = try FileURL.path(of: url.text) else {
        throw Failure(
          stage: .fetch, code: .blockedPath, detail: "\(url.text) names no file for this command")
      }
      return try contents(of: path, as: url, upTo: Int(clamping: file.maximumByteCount))
    } catch {
      return .failed(error)
    }
  }

  /// - Parameter url: names the file in the state that it had when its line was submitted.
  private static func contents(
    of path: String, as url: ImageURL, upTo maximumByteCount: Int
  ) throws(Failure) -> BroughtPicture {
    do throws(SystemError) {
      // Links are followed, as open(2) does it.
      let real = try Directory.resolve(path)
      let file = try OpenDirectory("/").openFile(
        String(real.drop { $0 == "/" }), named: path, upTo: maximumByteCount)
      let before = try FileStatus(of: file.rawValue)
      guard FileURL.text(ofPath: Array(path.utf8), state: before.state) == url.text else {
        return .failed(failure("\(path) has changed since it was submitted; submit it again"))
      }
      let bytes = try FileIO.contents(of: file.rawValue, named: path, upTo: maximumByteCount)
      guard bytes.count == before.byteCount,
        try FileStatus(of: file.rawValue).state == before.state
      else {
        throw SystemError(operation: "read \(path), which changed meanwhile", code: EIO)
      }
      return .fetched(
        FetchedPicture(byteCount: bytes.count), try MemoryFile(containing: bytes).file)
    } catch {
      throw error.code == EFBIG
        ? Failure(
          stage: .fetch, code: .tooLarge, detail: "\(path) is longer than \(maximumByteCount) bytes"
        )
        : failure("\(error)")
    }
  }

  private static func failure(_ detail: String) -> Failure {
    Failure(stage: .fetch, code: .unreadableFile, detail: detail)
  }
}
