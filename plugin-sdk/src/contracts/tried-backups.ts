import { defineService } from '../service.ts'
import type { User } from './users.ts'

/** A backup of the whole node that was restored to try it out, had everything, and is still there. */
export interface TriedBackup {
  /** The moment of its state. */
  readonly createdAt: Date
  /** When it was tried out. */
  readonly triedAt: Date
}

/** The backups that were tried out. */
export interface TriedBackups {
  /**
   * The newest such backup that has each of some contents among the files of a user, under any path. Nothing is read of the archives:
   * their contents were noted when they were tried out.
   *
   * @param contents SHA-256 in hexadecimal digits
   * @returns one for each content, in their order; `null` where no such backup has it
   */
  having(user: Pick<User, 'uuid'>, contents: readonly string[]): Promise<readonly (TriedBackup | null)[]>
}

/** The backups of the node that were tried out, of the plugin that makes them. */
export const TriedBackups = defineService<TriedBackups>('tried-backups', 1)
