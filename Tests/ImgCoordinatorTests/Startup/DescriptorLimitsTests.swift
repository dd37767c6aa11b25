import ImgModel
import ImgSettings
import Testing

@testable import ImgCoordinator

/// What a low hard limit of descriptors (RLIMIT_NOFILE) permits.
@Suite struct DescriptorLimitsTests {
  private func settings(transfers: Int = 64) -> Settings {
    var settings = Settings(socketPath: "/s", dataDirectory: "/d")
    settings.limits.transfers = transfers
    settings.limits.workers = 2
    return settings
  }

  @Test func `more transfers than fit are refused, with the number that does`() throws {
    let low = DescriptorLimits(maximum: 1_024)
    var many = settings(transfers: 16_384)
    let error = #expect(throws: StartError.self) { try low.limitTransfers(of: &many) }
    #expect(
      error?.description
        == "--transfers: 16384 transfers need 50432 open files, but a process may have 1024 here; raise "
        + "the hard limit (ulimit -H -n, LimitNOFILE=), or use at most 109 transfers")
    #expect(low.reasonForRefusing(transfers: 109) == nil)
    #expect(low.reasonForRefusing(transfers: 110) != nil)
    #expect(DescriptorLimits(maximum: 1 << 20).reasonForRefusing(transfers: 16_384) == nil)
  }

  @Test func `the default number of transfers and of clients shrinks to what fits`() throws {
    let tight = DescriptorLimits(maximum: 358)
    var settings = settings()
    #expect(try tight.limitTransfers(of: &settings)?.contains("use at most 14 transfers") == true)
    #expect(settings.limits.transfers == 14)
    #expect(tight.limitClients(of: &settings)?.contains("clients may connect, not 512") == true)
    #expect(settings.limits.clients < 358)
    #expect(try tight.limitTransfers(of: &settings) == nil)
    #expect(tight.limitClients(of: &settings) == nil)
  }
}
