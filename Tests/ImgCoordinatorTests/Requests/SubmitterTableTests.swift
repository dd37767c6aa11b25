import ImgModel
import Testing

@testable import ImgCoordinator

@Suite struct SubmitterTableTests {
  private let job = JobID(rawValue: 1)
  private let other = JobID(rawValue: 2)
  private let client = ClientID(rawValue: 7)

  @Test func `a job's submitter is known until it is removed`() {
    var table = SubmitterTable()
    table.add(client, of: job)
    table.add(client, of: other)
    #expect(table[job] == client)
    #expect(table.remove(job) == client)
    #expect(table[job] == nil)
    #expect(table.remove(job) == nil)
    #expect(table[other] == client)
  }

  @Test func `a second submitter of a job is a bug of the caller`() async {
    await #expect(processExitsWith: .failure) {
      var table = SubmitterTable()
      table.add(ClientID(rawValue: 7), of: JobID(rawValue: 1))
      table.add(ClientID(rawValue: 8), of: JobID(rawValue: 1))
    }
  }
}
