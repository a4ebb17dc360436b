import type { FileEntry, FileWriteOptions, UserFiles } from '../../contracts/files.ts'
import { nameOf, parentOf } from '../../entry-paths.ts'
import { NodekeepError } from '../../errors.ts'

const usualTime = new Date(1_700_000_000_000)

/** A user's files in memory: just what a program's folders need. */
export class InMemoryFiles implements UserFiles {
  /** By their paths. */
  readonly contents = new Map<string, Buffer>()
  readonly #folders = new Set(['/'])
  /** The times of files. */
  readonly #modified = new Map<string, Date>()
  #revision = 0

  constructor(contents: Readonly<Record<string, string | Uint8Array>> = {}) {
    for (const [path, content] of Object.entries(contents)) this.put(path, content)
  }

  put(path: string, content: string | Uint8Array, modified = usualTime): void {
    this.#addFolders(parentOf(path))
    this.#modified.set(path, modified)
    this.contents.set(path, Buffer.from(content as string))
    this.#revision += 1
  }

  /** The content of a file; undefined when it does not exist. */
  text(path: string): string | undefined {
    return this.contents.get(path)?.toString()
  }

  async stat(path: string): Promise<FileEntry> {
    return this.#entry(path)
  }

  async *list(path: string): AsyncIterable<FileEntry> {
    if (this.#entry(path).type === 'file') throw new NodekeepError('VALIDATION_ERROR', 'It is a file.')
    const all = [...this.contents.keys(), ...this.#folders]
    const inside = all.filter((each) => each !== '/' && parentOf(each) === path)
    for (const each of inside.sort()) yield this.#entry(each)
  }

  async read(path: string): Promise<{ entry: FileEntry; content: AsyncIterable<Uint8Array> }> {
    const entry = this.#entry(path)
    const bytes = this.contents.get(path)
    if (bytes === undefined) throw new NodekeepError('VALIDATION_ERROR', 'It is a folder.')
    return {
      entry,
      content: (async function* () {
        yield bytes
      })(),
    }
  }

  async write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    { modified = new Date() }: FileWriteOptions = {},
  ): Promise<FileEntry> {
    if (this.#folders.has(path)) throw new NodekeepError('CONFLICT', 'It is a folder.')
    const bytes = Buffer.concat(await Array.fromAsync(content, (chunk) => Buffer.from(chunk)))
    this.put(path, bytes, modified)
    return this.#entry(path)
  }

  async makeDirectory(path: string): Promise<FileEntry> {
    if (this.contents.has(path)) throw new NodekeepError('CONFLICT', 'It is a file.')
    this.#addFolders(path)
    return this.#entry(path)
  }

  async remove(path: string): Promise<void> {
    this.#entry(path)
    for (const kept of [this.contents, this.#folders]) {
      for (const each of kept.keys()) if (`${each}/`.startsWith(`${path}/`)) kept.delete(each)
    }
  }

  async move(source: string, destination: string): Promise<FileEntry> {
    await this.copy(source, destination)
    await this.remove(source)
    return this.#entry(destination)
  }

  async copy(source: string, destination: string): Promise<FileEntry> {
    const { content } = await this.read(source)
    await this.write(destination, content)
    return this.#entry(destination)
  }

  #addFolders(path: string): void {
    for (let each = path; each !== '/'; each = parentOf(each)) this.#folders.add(each)
  }

  #entry(path: string): FileEntry {
    const bytes = this.contents.get(path)
    if (bytes === undefined && !this.#folders.has(path)) {
      throw new NodekeepError('NOT_FOUND', `There is nothing at "${path}".`)
    }
    const revision = String(this.#revision)
    const size = bytes?.length ?? 0
    const type = bytes ? 'file' : 'directory'
    const modified = this.#modified.get(path) ?? usualTime
    return { path, name: nameOf(path), type, size, modified, created: usualTime, revision }
  }
}
