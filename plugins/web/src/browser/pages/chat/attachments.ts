import { signal } from '@preact/signals'
import { reasonOf } from '../../request.ts'
import * as texts from '../../texts.ts'
import { nameOf } from '../files/paths.ts'
import { type AttachedContents, partOf } from './attached-content.ts'
import type { ChatFiles } from './chat-files.ts'

/** A file that goes with the next message. */
export interface Attachment {
  readonly name: string
  /** The path on the node; `null` while it is being stored there. */
  readonly path: string | null
  /** Whether it was stored for the message. */
  readonly isOfDevice: boolean
}

/** The most files of a message. */
const mostFiles = 10

/** The files that go with the next message. Those of the device are stored on the node first. */
export class Attachments {
  readonly list = signal<readonly Attachment[]>([])
  /** The reason why the last file was not attached. */
  readonly fault = signal('')
  readonly #files: ChatFiles
  readonly #contents: AttachedContents
  readonly #onChange: () => void

  /** @param onChange called when the paths of the files change */
  constructor(files: ChatFiles, contents: AttachedContents, onChange: () => void) {
    this.#files = files
    this.#contents = contents
    this.#onChange = onChange
  }

  get isStoring(): boolean {
    return this.list.value.some(({ path }) => path === null)
  }

  /** The paths of the files that are stored. */
  get paths(): string[] {
    return this.list.value.flatMap(({ path }) => path ?? [])
  }

  /** Attaches files of the device, one after the other. */
  async add(files: readonly File[]): Promise<void> {
    this.fault.value = ''
    for (const file of files) await this.#attempt(() => this.#store(file))
  }

  /** Attaches a file of the node. */
  async choose(path: string): Promise<void> {
    this.fault.value = ''
    await this.#attempt(async () => {
      this.#checkNumber()
      await this.#contents.read(path)
      if (!this.paths.includes(path))
        this.#set([...this.list.value, { name: nameOf(path), path, isOfDevice: false }])
    })
  }

  /** Attaches files by their paths, as after a reload. */
  restore(paths: readonly string[]): void {
    this.list.value = paths.map((path) => ({ name: nameOf(path), path, isOfDevice: false }))
  }

  /** Removes a file. It stays on the node only if it was there before. */
  async remove(attachment: Attachment): Promise<void> {
    this.#set(this.list.value.filter((other) => other !== attachment))
    const { isOfDevice, path } = attachment
    if (isOfDevice && path !== null) await this.#attempt(() => this.#files.deleteAttached(path))
  }

  clear(): void {
    this.fault.value = ''
    this.#set([])
  }

  async #store(file: File): Promise<void> {
    this.#checkNumber()
    const waiting: Attachment = { name: file.name, path: null, isOfDevice: true }
    this.#set([...this.list.value, waiting])
    const replace = (by: readonly Attachment[]) =>
      this.#set(this.list.value.flatMap((other) => (other === waiting ? by : other)))
    try {
      const part = await partOf(file.name, file)
      const path = await this.#files.storeAttached(file)
      this.#contents.set(path, part)
      const wasRemoved = !this.list.value.includes(waiting)
      replace([{ ...waiting, path }])
      if (wasRemoved) await this.#files.deleteAttached(path)
    } catch (error) {
      replace([])
      throw error
    }
  }

  #checkNumber(): void {
    if (this.list.value.length >= mostFiles) throw new Error(texts.chat.tooManyFiles(mostFiles))
  }

  #set(list: readonly Attachment[]): void {
    this.list.value = list
    this.#onChange()
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.fault.value = reasonOf(error)
    }
  }
}
