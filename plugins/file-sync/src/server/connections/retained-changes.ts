import type { ChangeLog, Log } from '@nodekeep/plugin-sdk'
import type { Devices } from '../devices/devices.ts'

/** The name of this plugin as a reader of the journal. */
const reader = 'file-sync'

/** Makes the journal keep the changes that devices have not stored, and follow the users who have devices. */
export class RetainedChanges {
  readonly #changes: ChangeLog
  readonly #devices: Devices
  readonly #log: Pick<Log, 'warn'>
  readonly #signal: AbortSignal
  readonly #marked = new Set<string>()

  /** @param signal aborts when the plugin stops */
  constructor(changes: ChangeLog, devices: Devices, log: Pick<Log, 'warn'>, signal: AbortSignal) {
    this.#changes = changes
    this.#devices = devices
    this.#log = log
    this.#signal = signal
  }

  /** Records that devices of a user have stored more. If the node stops before the journal gets that, the journal only keeps more. */
  mark(userUuid: string): void {
    this.#marked.add(userUuid)
  }

  /** Sends the journal the positions of the users who were marked. */
  async send(): Promise<void> {
    const users = [...this.#marked]
    this.#marked.clear()
    for (const userUuid of users) await this.#send(userUuid)
  }

  /**
   * Sends the journal the positions of all users who have devices, since it forgets its readers and stops following after a while.
   * This does not wait for the first scan of a user's files: a device that begins waits by itself.
   */
  async sendAll(): Promise<void> {
    if (this.#signal.aborted) return
    for (const userUuid of this.#devices.users()) {
      this.mark(userUuid)
      // A device that must list all files anyway misses nothing.
      if (this.#devices.oldestCursor(userUuid, this.#changes.epoch) === null) continue
      this.#changes
        .follow(userUuid)
        .catch((error) => this.#log.warn({ err: error }, 'Changes of other programs may be missed.'))
    }
    await this.send()
  }

  async #send(userUuid: string): Promise<void> {
    if (this.#signal.aborted) return
    const oldest = this.#devices.oldestCursor(userUuid, this.#changes.epoch)
    await this.#changes
      .retainFrom(userUuid, reader, oldest)
      .catch((error) =>
        this.#log.warn({ err: error }, 'Changes may be deleted that devices have not stored.'),
      )
  }
}
