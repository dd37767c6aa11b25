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

  @Test func `a picture of unknown length has no fraction, but a rising byte count`() async throws {
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

/// Incremental loads as users of the library see them.
@Suite(.timeLimit(.minutes(20)))
struct ImagePreviewTests {
  private func incremental(_ url: String, previewsRows: Bool) -> ImageRequest {
    var request = ImageRequest(url: url, variant: ImageVariant(size: 320, format: .png))
    request.isIncremental = true
    request.previewsRows = previewsRows
    return request
  }

  @Test(arguments: ArrivingPicture.Form.allCases)
  func `each preview is nearer to the thumbnail`(form: ArrivingPicture.Form) async throws {
    let backend = try RealBackend()
    let picture = try ArrivingPicture(form)
    backend.origin.serve("/a", .body(picture.bytes, delivery: .steps(picture.steps)))
    var previews: [ImagePreview] = []
    var image: LoadedImage?
    let client = try backend.makeClient()
    let request = incremental(backend.url("a"), previewsRows: form.showsRows)
    for await phase in client.phases(for: request) {
      if case .preview(let preview) = phase {
        previews.append(preview)
        backend.release("a", step: preview.number - 1)
      }
      #expect(phase.error == nil)
      image = phase.image
    }
    #expect(previews.map(\.number) == Array(1...picture.steps.count))
    let reader = try PictureReader.start()
    let thumbnail = try reader.raster(of: #require(image).bytes)
    let differences = try previews.map { preview in
      try reader.raster(of: preview.bytes).meanDifference(from: thumbnail)
    }
    #expect(zip(differences, differences.dropFirst()).allSatisfy { $0 > $1 }, "\(differences)")
    #expect(differences.allSatisfy { $0 > 0 })
  }
}
