import { bytesToHex, randomBytes } from '@noble/hashes/utils.js'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { type Signal, signal } from '@preact/signals'
import { Refusal } from '../../refusal.ts'
import * as texts from '../../texts.ts'
import { LastChange } from './last-change.ts'
import { numberedName } from './names.ts'
import { folderOf, nameOf, pathIn } from './paths.ts'

/** The way to go on if something is at the destination already. */
export type IfExists = 'ask' | 'replace' | 'keepBoth' | 'skip'

/** One attempt of a work. */
export interface Attempt {
  /** The destination. */
  readonly path: string
  /** Whether it replaces what is there. Otherwise nothing may be there. */
  readonly replaces: boolean
  /** Headers that tell the node which works were begun together. */
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  /** Tells which part of it is done, from 0 to 1. */
  progress(part: number): void
  /** Tells which part of it was done before this attempt, from 0 to 1. */
  wentOn(part: number): void
  /** Tells which group takes it back, by the answer of the node; `null` if nothing does. */
  answered(undo: string | null): void
}

/** A change of files that may take long: an upload, a move, a copy or a deletion. */
export interface Work {
  /** The task in words, for people. */
  readonly title: string
  /** The destination. */
  readonly path: string
  readonly ifExists: IfExists
  /** Comes to the destination: a file of the device, or the path of an entry on the node. */
  readonly source?: File | string
  /** Whether it is shown only if it takes a while, or fails. Such works do not wait for uploads, and cannot pause. */
  readonly isQuiet: boolean
  /**
   * Resolves to `null` when it is done; to a refusal with the status 412 if something is at the destination, and with the status
   * 0 if the node does not answer.
   */
  attempt(attempt: Attempt): Promise<Refusal | null>
  /** Whether an attempt whose answer was lost has succeeded. */
  isDone(path: string): Promise<boolean>
  /** The part of an upload that the node has, if it can go on from there later. */
  begun?(): BegunUpload | null
}

/** An upload of which the node has a part, or nothing yet. */
export interface BegunUpload extends Pick<Attempt, 'path' | 'replaces'> {
  /** Its address at the node. */
  readonly address: string
}

/** The state of a task. `away` waits for the node; `exists` and `paused` wait for the person. */
type TaskState =
  | { readonly is: 'waiting' | 'away' | 'paused' | 'done' | 'cancelled' | 'skipped' | 'exists' }
  | { readonly is: 'running'; readonly percent: number | null }
  | { readonly is: 'failed'; readonly reason: string; readonly canRetry: boolean }

/** A work that waits, runs or has ended. */
export interface Task {
  readonly work: Work
  /** Headers of its requests. */
  readonly headers: Readonly<Record<string, string>>
  readonly group: TaskGroup
  readonly state: Signal<TaskState>
  ifExists: IfExists
  /** The part of it that is done, from 0 to 1. */
  part: number
  /** Ends the attempt that runs. */
  running: AbortController | null
}

/** Bytes of the uploads that were begun and have not all ended. */
interface Transfer {
  /** Bytes that the node has. */
  readonly sent: number
  readonly total: number
}

/** Says what was done, by the names of what it was done to. */
export type Told = (names: readonly [string, ...string[]]) => string

/** Tasks that a person has begun together. */
interface TaskGroup {
  readonly id: string
  readonly tasks: Task[]
  /** The tasks that have not ended. */
  open: number
  readonly told: Told | undefined
  /** Whether the node can take back what was done; `null` until something was. */
  isUndoable: boolean | null
}

/** The tasks of a kind that run at a time. */
const atOnce = 3

/** The attempts of a task whose connection breaks while the node answers others, and that get no further than before. */
const mostAttempts = 5

/** Milliseconds after which a quiet task is shown. */
const quietMs = 400

/** The reason of the signal of an attempt that pauses. Any other reason is a cancellation. */
export const paused = Symbol('paused')

interface Queue {
  readonly waiting: Task[]
  running: number
}

/** Runs works in their order, and keeps those that need the person. They go on while another page is shown. */
export class Tasks {
  /** The tasks that are shown: all but quiet ones that are done soon. */
  readonly list = signal<readonly Task[]>([])
  /** Changes when a task begins, waits or ends, but not with its progress. */
  readonly version = signal(0)
  /** Whether uploads wait until the person goes on. */
  readonly isPaused = signal(false)
  /** Whether the person is asked about what is there already. */
  readonly isAsking = signal(false)
  /** Bytes that have been sent since the page began, to know how fast it is. */
  sentBytes = 0
  /** The change that can be taken back. */
  readonly lastChange: LastChange
  /** Called when a task is done. */
  onDone: () => void = () => {}
  readonly #page: PageContext
  readonly #queues = { loud: newQueue(), quiet: newQueue() }
  /** Ends the attempts that run when the person pauses. */
  #pause = new AbortController()
  /** Resolves when the person goes on. */
  #goesOn = Promise.withResolvers<void>()

  constructor(page: PageContext) {
    this.#page = page
    this.lastChange = new LastChange(page)
    const stay = (event: Event) => {
      if (this.#queues.loud.running + this.#queues.quiet.running > 0) event.preventDefault()
    }
    addEventListener('beforeunload', stay, { signal: page.signedOut })
  }

  /**
   * Adds works that a person has begun together: the node keeps their changes as one group.
   *
   * @param told says what was done when all of them have ended, with the offer to take it back
   */
  add(works: readonly Work[], told?: Told): void {
    if (this.isPaused.value && this.list.value.every(({ state }) => hasEnded(state.value))) this.goOn()
    const id = bytesToHex(randomBytes(16))
    const headers = { 'x-nodekeep-group': id }
    const group: TaskGroup = { id, tasks: [], open: works.length, told, isUndoable: null }
    const tasks = works.map((work) => ({
      work,
      headers,
      group,
      state: signal<TaskState>({ is: 'waiting' }),
      ifExists: work.ifExists,
      part: 0,
      running: null,
    }))
    group.tasks.push(...tasks)
    this.list.value = [...this.list.value, ...tasks.filter(({ work }) => !work.isQuiet)]
    for (const task of tasks) this.#queueOf(task).waiting.push(task)
    this.#start()
  }

  /** Answers the question of a task that found something at its destination. */
  answer(task: Task, ifExists: IfExists): void {
    if (task.state.value.is !== 'exists') return
    task.ifExists = ifExists
    if (ifExists === 'skip') this.#set(task, { is: 'skipped' })
    else this.#again(task)
  }

  /** Answers the questions of all tasks, also those that are still to come. */
  answerAll(ifExists: IfExists): void {
    for (const task of [...this.#queues.loud.waiting, ...this.#queues.quiet.waiting]) task.ifExists = ifExists
    for (const task of this.list.value) {
      if (task.state.value.is === 'exists') this.answer(task, ifExists)
      else task.ifExists = ifExists
    }
  }

  /** Runs a task that has failed again. */
  retry(task: Task): void {
    if (task.state.value.is === 'failed') this.#again(task)
  }

  cancel(task: Task): void {
    if (hasEnded(task.state.value)) return
    this.#set(task, { is: 'cancelled' })
    task.running?.abort()
  }

  cancelAll(): void {
    for (const task of [...this.#queues.quiet.waiting, ...this.list.value]) this.cancel(task)
  }

  /** Stops the uploads that run. What the node has of them stays, where it can. */
  pause(): void {
    this.isPaused.value = true
    this.#pause.abort(paused)
  }

  /** Goes on with uploads after a pause. */
  goOn(): void {
    this.isPaused.value = false
    this.#pause = new AbortController()
    this.#goesOn.resolve()
    this.#goesOn = Promise.withResolvers()
    this.#start()
  }

  /** Tells how far the uploads are that have not ended, with those that were begun together with them. */
  get transfer(): Transfer {
    let [sent, total] = [0, 0]
    for (const { work, group, state, part } of this.list.peek()) {
      const { is } = state.peek()
      if (group.open === 0 || !(work.source instanceof File) || (is !== 'done' && hasEnded(state.peek())))
        continue
      total += work.source.size
      sent += is === 'done' ? work.source.size : part * work.source.size
    }
    return { sent, total }
  }

  /** Removes the tasks that have ended from the list. */
  clear(): void {
    this.list.value = this.list.value.filter(({ state }) => !hasEnded(state.value))
  }

  #again(task: Task): void {
    this.#set(task, { is: 'waiting' })
    this.#queueOf(task).waiting.push(task)
    this.#start()
  }

  #set(task: Task, state: TaskState): void {
    const { group } = task
    group.open += Number(hasEnded(task.state.value)) - Number(hasEnded(state))
    task.state.value = state
    this.version.value += 1
    if (group.open === 0) this.#tell(group)
  }

  /** Says what a group has done. If a part of it cannot be taken back, nothing is offered. */
  #tell({ id, tasks, told, isUndoable }: TaskGroup): void {
    const done = tasks.filter(({ state }) => state.value.is === 'done')
    // An upload is no request of the page, so the frame does not know of it.
    if (done.some(({ work }) => work.source instanceof File)) void this.#page.refresh()
    const [first, ...others] = done.map(({ work }) => nameOf(work.path))
    if (first === undefined) return
    if (told && isUndoable) this.lastChange.tell(told([first, ...others]), id)
    else this.lastChange.clear()
  }

  #queueOf({ work }: Task): Queue {
    return work.isQuiet ? this.#queues.quiet : this.#queues.loud
  }

  #start(): void {
    for (const queue of [this.#queues.loud, this.#queues.quiet]) {
      while (queue.running < atOnce && !(queue === this.#queues.loud && this.isPaused.value)) {
        const task = queue.waiting.shift()
        if (task === undefined) break
        if (task.state.value.is === 'waiting') void this.#run(task, queue)
      }
    }
  }

  async #run(task: Task, queue: Queue): Promise<void> {
    queue.running += 1
    const running = new AbortController()
    task.running = running
    const show = () => {
      if (!this.list.value.includes(task)) this.list.value = [...this.list.value, task]
    }
    const timer = task.work.isQuiet ? setTimeout(show, quietMs) : undefined
    try {
      const end = await this.#attempts(task, running.signal).catch(failed)
      if (running.signal.aborted) return
      this.#set(task, end)
      if (end.is === 'exists' || end.is === 'failed') show()
      if (end.is === 'done') this.#finish(task)
    } finally {
      clearTimeout(timer)
      task.running = null
      queue.running -= 1
      this.#start()
    }
  }

  #finish(task: Task): void {
    if (task.work.isQuiet) this.list.value = this.list.value.filter((other) => other !== task)
    this.onDone()
  }

  async #attempts(task: Task, signal: AbortSignal): Promise<TaskState> {
    const { state, work, headers, group } = task
    let path = work.path
    let number = 1
    let furthest = 0
    for (let losses = 0; losses < mostAttempts; ) {
      this.#set(task, { is: 'running', percent: null })
      const attempt = work.isQuiet ? signal : AbortSignal.any([signal, this.#pause.signal])
      const refusal = await work.attempt({
        path,
        replaces: task.ifExists === 'replace',
        headers,
        signal: attempt,
        progress: (part) => {
          if (part > furthest) losses = 0
          furthest = Math.max(furthest, part)
          if (work.source instanceof File) this.sentBytes += Math.max(0, part - task.part) * work.source.size
          task.part = part
          const percent = Math.floor(100 * part)
          const { value } = state
          if (value.is === 'running' && value.percent !== percent) state.value = { is: 'running', percent }
        },
        wentOn: (part) => {
          task.part = part
        },
        answered: (undo) => {
          group.isUndoable = undo === group.id && group.isUndoable !== false
        },
      })
      if (refusal === null || signal.aborted) return { is: 'done' }
      if (attempt.aborted) {
        this.#set(task, { is: 'paused' })
        await this.#untilGoingOn(signal)
        if (signal.aborted || (await work.isDone(path))) return { is: 'done' }
      } else if (refusal.status === 412) {
        // Nothing of what was sent is kept.
        task.part = 0
        if (task.ifExists !== 'keepBoth') return { is: task.ifExists === 'skip' ? 'skipped' : 'exists' }
        number += 1
        path = pathIn(folderOf(work.path), numberedName(nameOf(work.path), number))
      } else if (refusal.status === 0) {
        losses += 1
        this.#set(task, { is: 'away' })
        await this.#page.nodeAnswers()
        if (signal.aborted || (await work.isDone(path))) return { is: 'done' }
      } else if (refusal.status !== 401 || !(await this.#page.signIn())) return failed(refusal)
    }
    return { is: 'failed', reason: texts.files.broken, canRetry: true }
  }

  /** Resolves when the person goes on, or cancels. */
  async #untilGoingOn(signal: AbortSignal): Promise<void> {
    if (!this.isPaused.value || signal.aborted) return
    const cancelled = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    await Promise.race([this.#goesOn.promise, cancelled])
  }
}

/** Whether a task is over, also if it can be tried again. */
export function hasEnded({ is }: TaskState): boolean {
  return is === 'done' || is === 'cancelled' || is === 'skipped' || is === 'failed'
}

function newQueue(): Queue {
  return { waiting: [], running: 0 }
}

/** Statuses of refusals that the same request gets again: its name or its size is wrong. */
const lasting = new Set([400, 413, 414])

function failed(error: unknown): TaskState {
  const reason = error instanceof TypeError ? texts.files.broken : (error as Error).message
  return { is: 'failed', reason, canRetry: !(error instanceof Refusal && lasting.has(error.status)) }
}
