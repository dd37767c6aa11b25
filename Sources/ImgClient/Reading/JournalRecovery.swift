package import ImgModel
import ImgStore

/// The intact jobs of a damaged journal. Reads it without opening it, and changes nothing.
///
/// It may find jobs that were removed recently.
package struct JournalRecovery {
  private let extract: JournalExtract

  /// - Parameter directory: the journal's, or that of a copy.
  package init(directory: String) throws {
    extract = try JournalExtract(directory: directory)
  }

  /// The jobs of which anything is intact, in the order of submission.
  package var jobs: [JobID] { extract.jobIDs }

  /// A job without its headers; `nil` if its record is lost.
  package func record(of job: JobID) -> JobRecord? { extract.job(job) }

  /// Calls `body` with each line of a job, in order, with its valid outcome. The URL is `nil` if the list
  /// is lost.
  package func forEachLine(
    of job: JobID, _ body: (_ index: Int, _ url: String?, Outcome?) throws -> Void
  ) throws {
    try extract.forEachLine(of: job, body)
  }
}
