import ImgModel
import Testing

/// The union of what several requests ask for.
@Suite struct RetentionTests {
  private let date = WallTime(rawValue: 1_800_000_000_000)

  private func expiry(
    _ retention: Retention, storedAt: WallTime = WallTime(rawValue: 1_000)
  ) -> Int64 {
    retention.expiresAt(storedAt: storedAt).rawValue
  }

  @Test func `a duration starts at the download, a date does not`() {
    #expect(expiry(Retention(after: .milliseconds(500))) == 1_500)
    #expect(expiry(Retention(until: date)) == date.rawValue)
    #expect(expiry(Retention(after: .milliseconds(500), until: date)) == date.rawValue)
    let late = date.advanced(by: .milliseconds(1))
    #expect(
      expiry(Retention(after: .milliseconds(500), until: date), storedAt: late) == 500
        + late.rawValue)
    #expect(expiry(Retention(until: date), storedAt: late) == date.rawValue, "a date in the past")
    #expect(expiry(Retention()) == 1_000)
  }

  @Test func `the longest retention of each kind wins in any order`() {
    let retentions = [
      Retention(after: .milliseconds(5)), Retention(until: date),
      Retention(sliding: .milliseconds(7)),
      Retention(after: .milliseconds(9), sliding: .milliseconds(3)),
      Retention(until: date.advanced(by: .milliseconds(-1))), Retention(),
    ]
    let all = Retention(after: .milliseconds(9), until: date, sliding: .milliseconds(7))
    for order in [retentions, retentions.reversed()] {
      #expect(order.reduce(into: Retention()) { $0.formUnion($1) } == all)
    }
    #expect(retentions.allSatisfy { all.covers($0) })
    #expect(retentions.allSatisfy { !$0.covers(all) })
  }

  @Test func `the default applies to new thumbnails and not to stored ones`() {
    let standard = Expiry.standard
    #expect(
      standard.retention(defaultExpiry: .milliseconds(5)) == Retention(after: .milliseconds(5)))
    #expect(standard.retentionOfStored(defaultExpiry: .milliseconds(5)) == Retention())
    let sliding = Expiry(.standard, isSliding: true)
    #expect(
      sliding.retention(defaultExpiry: .milliseconds(5))
        == Retention(after: .milliseconds(5), sliding: .milliseconds(5)))
    #expect(
      sliding.retentionOfStored(defaultExpiry: .milliseconds(5))
        == Retention(sliding: .milliseconds(5)))
    for named in [
      Expiry(.after(.milliseconds(8))), Expiry(.after(.milliseconds(8)), isSliding: true),
      Expiry(.at(date)),
    ] {
      #expect(
        named.retention(defaultExpiry: .milliseconds(5))
          == named.retentionOfStored(defaultExpiry: .milliseconds(6)))
    }
  }
}
