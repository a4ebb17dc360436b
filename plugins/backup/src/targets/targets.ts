import { createReadStream } from 'node:fs'
import {
  isNodekeepError,
  type Log,
  messageOf,
  NodekeepError,
  type RegistryReader,
  type StorageBackend,
} from '@nodekeep/plugin-sdk'
import { type Keep, retainedBackups } from '../retention/retained-backups.ts'
import type { BackupFolder } from '../stored/backup-folder.ts'

/** The folder of the backups in a target. */
const folderPath = '/backups'

/** The state of a target. */
interface TargetState {
  readonly name: string
  /** When the target last had all backups that it should have; null for never since the start. */
  readonly completeAt: Date | null
  /** The reason why it does not have them now; null if it has. */
  readonly problem: string | null
}

/** Copies backups to storage backends, such as another disk. */
export class Targets {
  readonly #names: readonly string[]
  readonly #backends: RegistryReader<StorageBackend>
  readonly #folder: BackupFolder
  readonly #keep: Keep | undefined
  readonly #isEncrypted: boolean
  readonly #command: string
  readonly #log: Log
  readonly #states = new Map<string, TargetState>()

  constructor(parts: {
    readonly names: readonly string[]
    readonly backends: RegistryReader<StorageBackend>
    readonly folder: BackupFolder
    readonly keep: Keep | undefined
    readonly isEncrypted: boolean
    /** The words that run the commands of backups. */
    readonly command: string
    readonly log: Log
  }) {
    this.#names = parts.names
    this.#backends = parts.backends
    this.#folder = parts.folder
    this.#keep = parts.keep
    this.#isEncrypted = parts.isEncrypted
    this.#command = parts.command
    this.#log = parts.log
  }

  get states(): readonly TargetState[] {
    return this.#names.map((name) => this.#states.get(name) ?? { name, completeAt: null, problem: null })
  }

  /** Whether a target lacks a backup. */
  get areBehind(): boolean {
    return this.states.some(({ problem }) => problem !== null)
  }

  /**
   * @param absentPlugins enabled plugins that do not work now; one of them may provide a missing storage
   * @throws Error that names a target that is no storage
   */
  refuseUnknown(absentPlugins: readonly string[]): void {
    const index = this.#names.findIndex((name) => !this.#backends.has(name))
    if (index < 0 || absentPlugins.length > 0) return
    const known = this.#backends.names().join(', ')
    throw new Error(
      `backup.targets[${index}] names the storage "${this.#names[index]}", which no plugin provides. Loaded storages: ${known}. ` +
        'Correct the name, or load the plugin that provides it.',
    )
  }

  /**
   * Brings every target up to date: copies the backups that it should have, and deletes those that `keep` does not keep. A target
   * that fails does not hold up the others. Call it again later for those.
   *
   * @param now the present, or the moment of a backup that was just made
   */
  async update(signal: AbortSignal, now = new Date()): Promise<void> {
    for (const name of this.#names) {
      const before = this.#states.get(name)
      try {
        await this.#updateOne(name, signal, now)
        this.#states.set(name, { name, completeAt: new Date(), problem: null })
        if (before?.problem) this.#log.info({ target: name }, 'The target of backups is complete again.')
      } catch (error) {
        if (signal.aborted) return
        const problem = messageOf(error)
        this.#states.set(name, { name, completeAt: before?.completeAt ?? null, problem })
        if (before?.problem !== problem) {
          // An error for people needs no stack.
          const reason = isNodekeepError(error) ? { problem } : { err: error }
          this.#log.warn({ target: name, ...reason }, 'A target lacks backups. The copy is tried again.')
        }
      }
    }
  }

  async #updateOne(name: string, signal: AbortSignal, now: Date): Promise<void> {
    const backend = this.#backendOf(name)
    await backend.makeDirectory(folderPath)
    const present = new Map<string, number>()
    for await (const { name: filename, size } of backend.list(folderPath)) present.set(filename, size)
    const backups = await this.#folder.list()
    const kept = this.#keep === undefined ? new Set(backups) : retainedBackups(backups, this.#keep, now)
    for (const { filename, size } of backups.filter((backup) => kept.has(backup))) {
      if (present.get(filename) === size) continue
      const content = createReadStream(await this.#folder.find(filename), { signal })
      await backend.write(`${folderPath}/${filename}`, content, { size, signal })
      present.set(filename, size)
      this.#log.info({ target: name, filename, size }, 'A backup was copied to a target.')
    }
    if (this.#keep === undefined) return
    const known = new Map(backups.map(({ filename, created }) => [filename, created]))
    const copies = [...present.keys()]
      .flatMap((filename) => {
        const created = known.get(filename) ?? momentOf(filename)
        return created === null ? [] : { filename, created }
      })
      .sort((a, b) => b.created.getTime() - a.created.getTime())
    const keptCopies = retainedBackups(copies, this.#keep, now)
    for (const copy of copies) {
      if (!keptCopies.has(copy)) await backend.remove(`${folderPath}/${copy.filename}`)
    }
  }

  #backendOf(name: string): StorageBackend {
    const backend = this.#backends.get(name)
    if (backend === undefined) {
      const known = this.#backends.names().join(', ')
      throw new NodekeepError(
        'SERVICE_UNAVAILABLE',
        `No plugin provides the storage "${name}" of backup.targets. Loaded storages: ${known}.`,
      )
    }
    if (backend.plainFolder === undefined && !this.#isEncrypted) {
      throw new NodekeepError(
        'CONFLICT',
        `The storage "${name}" is not a folder of this machine, so backups must be encrypted for it. Set backup.recipients; \`${this.#command} key\` makes a key.`,
      )
    }
    return backend
  }
}

/** The moment that the name of a backup tells; null for another name. */
function momentOf(filename: string): Date | null {
  const digits = /^backup-(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)\.tar\.gz$/.exec(filename)
  if (digits === null) return null
  const [, year, month, day, hour, minute, second] = digits
  const moment = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  return Number.isNaN(moment.getTime()) ? null : moment
}
