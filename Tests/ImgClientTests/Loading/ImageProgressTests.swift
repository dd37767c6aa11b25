import ImgClient
import Synchronization
import TestOrigin
import TestPictures
import Testing

/// What the cluster reports of a picture that arrives: each report, also those that the phases of a slow
/// reader skip.
@Suite(.timeLimit(.minutes(20)))
struct ImageProgressTests {
  private let backend: RealBackend

  init() throws {
    backend = try RealBackend()
  }

  /// Loads a picture.
  ///
  /// - Parameter onProgress: is called for each report.
  /// - Returns: all reports.
  private func progress(
    of name: String, _ onProgress: @escaping @Sendable (ImageProgress) -> Void = { _ in }
  ) async throws -> [ImageProgress] {
    let reports = Reports()
    _ = try await backend.makeTransport().loadImage(for: ImageRequest(url: backend.url(name))) {
      guard case .progress(let progress) = $0 else { return }
      reports.all.withLock { $0.append(progress) }
      onProgress(progress)
    }
    return reports.all.withLock { $0 }
  }

  private final class Reports: Sendable {
    let all = Mutex<[ImageProgress]>([])
  }

  @Test func `the fraction rises with each part of a large picture, up to 1`() async throws {
    let picture = try PictureMaker.start().noise(seed: 1, width: 700, height: 480, format: .png)
    let steps = (1...5).map { picture.count * $0 / 6 }
    backend.origin.serve("/a", .body(picture, delivery: .steps(steps)))
    let reports = try await progress(of: "a") { [backend] progress in
      guard let step = steps.firstIndex(of: progress.receivedByteCount) else { return }
      backend.release("a", step: step)
    }
    let fractions = reports.compactMap(\.fraction)
    #expect(fractions.count == reports.count)
    #expect(fractions.count >= steps.count + 1)
    #expect(zip(fractions, fractions.dropFirst()).allSatisfy { $0 < $1 })
    #expect(fractions.last == 1)
    #expect(reports.allSatisfy { $0.expectedByteCount == picture.count })
  }

  @Test func `a small picture goes from nothing to everything`() async throws {
    let picture = try PictureMaker.start().card(index: 1, width: 64, height: 48)
    backend.origin.serve("/a", .body(picture))
    #expect(try await progress(of: "a").map(\.fraction) == [1])
  }

  @Test func `a picture of unknown length has no fraction, and its byte count rises`() async throws
  {
    let picture = try PictureMaker.start().noise(seed: 1, width: 700, height: 480, format: .png)
    backend.origin.serve("/a", .body(picture, delivery: .chunked))
    let reports = try await progress(of: "a")
    #expect(reports.allSatisfy { $0.fraction == nil && $0.expectedByteCount == nil })
    let received = reports.map(\.receivedByteCount)
    #expect(zip(received, received.dropFirst()).allSatisfy { $0 < $1 })
    #expect(received.allSatisfy { $0 > 0 })
    #expect(received.last == picture.count)
  }
}
