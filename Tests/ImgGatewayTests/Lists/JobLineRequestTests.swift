import ImgClient
import ImgGateway
import Testing

@Suite struct JobLineRequestTests {
  private let client = ImageClient(transport: InMemoryCluster())

  private func request(_ request: ImageJobRequest) async throws -> ImageRequest? {
    let id = try await client.jobs.submit(["https://h.example/a"], as: request)
    return JobLineRequest(try await client.jobs.job(id)).request(of: "https://h.example/a")
  }

  @Test func `a line is requested in the variant of its job`() async throws {
    var variant = ImageVariant(
      width: 30, height: 20, mode: .fill, crop: .point(x: 0.25, y: 1), format: .webp)
    variant.enlarges = true
    variant.quality = 55
    variant.isGrayscale = true
    variant.blur = 1.5
    variant.sharpen = 0.125
    variant.cornerRadius = 4
    variant.background = ImageVariant.Colour(red: 1, green: 2, blue: 3)
    variant.keepsProfile = true
    variant.keepsMetadata = true
    for frames in [
      ImageVariant.Frames.first, .number(3), .time(.milliseconds(1_500)), .poster, .all,
    ] {
      variant.frames = frames
      var job = ImageJobRequest(variant: variant)
      job.acceptsDamage = true
      var expected = ImageRequest(url: "https://h.example/a", variant: variant)
      expected.acceptsDamage = true
      #expect(try await request(job) == expected)
    }
  }

  @Test(
    arguments: [nil, .centre, .attention, .entropy] as [ImageVariant.Crop?])
  func `a line is requested in the crop of its job`(crop: ImageVariant.Crop?) async throws {
    let variant = ImageVariant(size: 30, mode: .fill, crop: crop)
    #expect(try await request(ImageJobRequest(variant: variant))?.variant == variant)
  }

  @Test func `a job with header fields has pictures of its own`() async throws {
    var job = ImageJobRequest(size: 64)
    job.headers = [ImageRequest.HeaderField("Authorization", "secret")]
    #expect(try await request(job) == nil)
  }
}
