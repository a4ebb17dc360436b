import type { FileEntry, FilesService, User } from '@nodekeep/plugin-sdk'

/**
 * Looks at files, once for all who ask for the same file of the same user in one turn of the event loop. The look begins
 * after the last of them has asked, so nobody is told of a state from before their call.
 */
export class GroupedLooks {
  readonly #files: FilesService
  readonly #coming = new Map<string, Promise<FileEntry>>()

  constructor(files: FilesService) {
    this.#files = files
  }

  /** @param key names the file and its user */
  at(key: string, user: Pick<User, 'uuid'>, path: string): Promise<FileEntry> {
    const coming = this.#coming.get(key)
    if (coming !== undefined) return coming
    const { promise, resolve } = Promise.withResolvers<FileEntry>()
    this.#coming.set(key, promise)
    setImmediate(() => {
      this.#coming.delete(key)
      resolve(this.#files.for(user).stat(path))
    })
    return promise
  }
}
