/** The thread that writes the journal, one batch after the other. Requests that arrive meanwhile form the next batch. */
import { parentPort, workerData } from 'node:worker_threads'
import { EntryStatements } from '../entries/entry-statements.ts'
import { takeFormerDates } from '../entries/former-dates.ts'
import { RemovedEntries } from '../entries/removed-entries.ts'
import { ChangeStatements } from './change-statements.ts'
import { GroupCommit } from './group-commit.ts'
import { openJournalFile } from './journal-file.ts'
import type { FromWriter, NumberedRequest, ToWriter, WriteAnswer, WriterSettings } from './protocol.ts'
import { Retention } from './retention.ts'

/** Milliseconds after which work is tried again: outcomes that a full disk did not take, traces that a reader held. */
const retryMs = 1000
/** Requests of one transaction: it changes at most about a thousand rows, so that nobody waits for it long. */
const mostRequests = 100
const pruneEveryMs = 60 * 60 * 1000

if (parentPort === null) throw new Error('This file is the entry point of a worker thread.')
const port = parentPort
const send = (message: FromWriter) => port.postMessage(message)
const answer = (answers: readonly WriteAnswer[]) => {
  if (answers.length > 0) send(answers)
}

try {
  serve(workerData as WriterSettings)
} catch (error) {
  send({ opened: false, message: error instanceof Error ? error.message : String(error) })
  port.close()
}

function serve(settings: WriterSettings): void {
  const connection = openJournalFile(settings.file)
  const entries = new EntryStatements(connection, settings.mounts)
  takeFormerDates(connection, entries)
  const changes = new ChangeStatements(connection, entries)
  const group = new GroupCommit(connection, changes, entries, new RemovedEntries(connection))
  const retention = new Retention(connection, settings)
  const waiting: NumberedRequest[] = []
  let closing = false
  let scheduled = false
  let retry: NodeJS.Timeout | undefined
  let removeTracesAfter = 0
  let pruneAfter = Number.POSITIVE_INFINITY

  port.on('message', (message: ToWriter) => {
    if (message === 'close') closing = true
    else if (message === 'prune') pruneAfter = 0
    else waiting.push(...message)
    schedule()
  })
  send({ opened: true })

  function schedule(): void {
    if (!scheduled) setImmediate(flush)
    scheduled = true
  }

  function flush(): void {
    scheduled = false
    clearTimeout(retry)
    const batch = waiting.splice(0, mostRequests)
    if (batch.length > 0 || group.hasUnwritten) answer(group.write(batch))
    // Batches and the steps of long requests take turns.
    if (group.hasSteps) answer(group.step())
    if (closing && waiting.length === 0 && !group.hasLongRequests) {
      connection.close()
      port.close()
      return
    }
    if (waiting.length > 0 || group.hasSteps) {
      schedule()
      return
    }
    if (group.hasTraces && performance.now() >= removeTracesAfter) {
      group.removeTraces()
      removeTracesAfter = performance.now() + retryMs
    }
    if (group.hasUnwritten || group.hasTraces) retry = setTimeout(schedule, retryMs)
    if (performance.now() >= pruneAfter) prune()
  }

  function prune(users: readonly string[] = retention.users()): void {
    pruneAfter = performance.now() + pruneEveryMs
    if (!connection.isOpen) return
    const left = users.filter((user) => retention.step(user))
    if (left.length > 0) setImmediate(prune, left)
  }
}
