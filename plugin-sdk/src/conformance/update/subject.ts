import type { Release, UpdateSource } from '../../contracts/update.ts'
import type { ConformanceCheck } from '../conformance-test.ts'

/** A release that the suite publishes. */
export interface PublishedRelease extends Release {
  /** The texts of its files by their paths, with a `release.json` for this machine. Those in `bin` are programs. */
  readonly files: Readonly<Record<string, string>>
}

/** A source that is ready for one test, with nothing published. */
export interface UpdateSubject {
  readonly source: UpdateSource
  /** Publishes a release as the newest one. */
  publish(release: PublishedRelease): Promise<void>
  /**
   * Publishes a release as somebody does who controls the place of the releases and has none of the publisher's keys: signed with keys
   * that are not trusted. The version may be a published one.
   */
  forge(release: PublishedRelease): Promise<void>
  /** Changes the content of the newest release where the source gets it from, without its publisher. */
  tamper(): Promise<void>
  /** From now on, the source gets everything as it was before the newest release was published. */
  replay(): Promise<void>
  /** Opens the source again with the state that it has, as after a restart of the node. */
  reopen(): Promise<UpdateSource>
  /** The server of the releases. `null` if the source reads from a disk of the node only. */
  readonly server: ReleaseServer | null
  close(): Promise<void>
}

/** The faults of a server of releases. */
export interface ReleaseServer {
  /** From now on, requests of the source are received and not answered. `asked` resolves when there was one. */
  stall(): Promise<{ readonly asked: Promise<void> }>
  /** From now on, nothing receives requests of the source. */
  unreachable(): Promise<void>
  /**
   * From now on, the list of releases, or the packed newest release, goes on with these bytes after its content, as fast as the source
   * takes them. No header tells a length. A call of `bytes` is for one answer.
   */
  flood(part: 'list' | 'release', bytes: () => AsyncIterable<Uint8Array>): Promise<void>
  /** From now on, the server redirects all requests to an address. `null` if its protocol has no redirects. */
  readonly redirect: ((location: string) => Promise<void>) | null
}

/** Registers one test, which gets a subject of its own. */
export type UpdateCheck = ConformanceCheck<UpdateSubject>
