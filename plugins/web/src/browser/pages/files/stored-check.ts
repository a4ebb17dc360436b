import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import {
  type CheckedAnswer,
  FolderCheck,
  type HashedFile,
  reasonOf,
  sentenceOf,
} from '@nodekeep/stored-check/client'
import { signal } from '@preact/signals'
import { Refusal } from '../../refusal.ts'
import { reasonOf as failureOf, request } from '../../request.ts'
import * as texts from '../../texts.ts'
import type { Dropped } from './dropped-files.ts'
import { FileHasher } from './file-hasher.ts'
import { nameOf } from './paths.ts'

/** Milliseconds before a request is sent again that the node has no time for. */
const pauseMs = 5000

/** A file that is not stored, with the reason for the person. */
interface MissingFile {
  readonly path: string
  readonly content: Dropped['content']
  readonly reason: string
}

/** The state of a check. */
export type CheckState =
  | { readonly is: 'choosing' }
  | { readonly is: 'running' | 'paused'; readonly progress: CheckProgress }
  | { readonly is: 'done'; readonly sentence: string }
  | { readonly is: 'failed'; readonly reason: string }

interface CheckProgress {
  readonly files: number
  readonly allFiles: number
  readonly bytes: number
  readonly allBytes: number
}

interface LocalFile extends HashedFile {
  readonly path: string
  readonly content: File
}

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'long' })

/** Compares files of this device with those of the node, by their contents. Nothing is uploaded by it. */
export class StoredCheck {
  /** Whether the person is asked for files to check, or a check is shown. What is dropped then is checked. */
  readonly isOpen = signal(false)
  readonly state = signal<CheckState>({ is: 'choosing' })
  readonly missing = signal<readonly MissingFile[]>([])
  readonly #page: PageContext
  #running = new AbortController()
  /** Resolves when the person goes on. */
  #pause = Promise.withResolvers<void>()

  constructor(page: PageContext) {
    this.#page = page
    this.#pause.resolve()
    page.signal.addEventListener('abort', () => this.close())
  }

  open(): void {
    this.isOpen.value = true
  }

  /** Ends a check that runs, and forgets its outcome. */
  close(): void {
    this.again()
    this.isOpen.value = false
  }

  /** Lets the person choose other files. */
  again(): void {
    this.#running.abort()
    this.resume()
    this.state.value = { is: 'choosing' }
    this.missing.value = []
  }

  pause(): void {
    if (this.state.value.is !== 'running') return
    this.#pause = Promise.withResolvers()
    this.state.value = { ...this.state.value, is: 'paused' }
  }

  resume(): void {
    this.#pause.resolve()
    if (this.state.value.is === 'paused') this.state.value = { ...this.state.value, is: 'running' }
  }

  /** Checks files, in place of those before. */
  async start(dropped: readonly Dropped[]): Promise<void> {
    this.again()
    const running = new AbortController()
    this.#running = running
    const hasher = new FileHasher()
    try {
      const sentence = await this.#check(dropped, hasher, running.signal)
      if (!running.signal.aborted) this.state.value = { is: 'done', sentence }
    } catch (error) {
      if (!running.signal.aborted) this.state.value = { is: 'failed', reason: failureOf(error) }
    } finally {
      hasher.end()
    }
  }

  async #check(dropped: readonly Dropped[], hasher: FileHasher, signal: AbortSignal): Promise<string> {
    const found = dropped.filter(({ content }) => content !== 'folder')
    const allBytes = found.reduce((sum, { content }) => sum + (content instanceof File ? content.size : 0), 0)
    let progress: CheckProgress = { files: 0, allFiles: found.length, bytes: 0, allBytes }
    const advance = (files: number, bytes: number) => {
      progress = { ...progress, files: progress.files + files, bytes: progress.bytes + bytes }
      const { is } = this.state.value
      if (!signal.aborted) this.state.value = { is: is === 'paused' ? 'paused' : 'running', progress }
    }
    const missing: MissingFile[] = []
    const check = new FolderCheck<LocalFile>(
      (files) => this.#ask(files, signal),
      ({ path, content }, answer) => {
        if (answer.state !== 'stored') missing.push({ path, content, reason: reasonOf(answer) })
      },
    )
    const between = async () => {
      await this.#pause.promise
      signal.throwIfAborted()
    }
    advance(0, 0)
    for (const { path, content } of found) {
      const file = content instanceof File ? content : null
      const sha256 = file && (await hasher.hash(file, between, (bytes) => advance(0, bytes)))
      signal.throwIfAborted()
      if (file === null || sha256 === null) {
        check.addUnread()
        missing.push({ path, content: 'unreadable', reason: texts.files.unreadable })
      } else await check.add({ path, name: nameOf(`/${path}`), size: file.size, sha256, content: file })
      advance(1, 0)
    }
    await check.end()
    signal.throwIfAborted()
    this.missing.value = missing
    return sentenceOf(check.tally, (date) => dates.format(date))
  }

  async #ask(files: readonly HashedFile[], signal: AbortSignal): Promise<readonly CheckedAnswer[]> {
    for (;;) {
      try {
        const answer = await request(this.#page, 'POST /api/files/check', { body: { files }, signal })
        return answer.files
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof TypeError) await this.#page.nodeAnswers()
        else if (error instanceof Refusal && error.status === 429)
          await new Promise((resolve) => setTimeout(resolve, pauseMs))
        else throw error
      }
    }
  }
}
