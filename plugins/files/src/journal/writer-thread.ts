/** The thread that writes the journal, one batch after the other. Requests that arrive meanwhile form the next batch. */
import { parentPort, workerData } from 'node:worker_threads'
import { ChangeStatements } from './change-statements.ts'
import { GroupCommit } from './group-commit.ts'
import { openJournalFile } from './journal-file.ts'
import type { FromWriter, NumberedRequest, ToWriter, WriterSettings } from './protocol.ts'
import { Retention } from './retention.ts'

/** Milliseconds after which work is tried again: outcomes that a full disk did not take, traces that a reader held. */
const retryMs = 1000
const pruneEveryMs = 60 * 60 * 1000

if (parentPort === null) throw new Error('This file is the entry point of a worker thread.')
const port = parentPort
const send = (message: FromWriter) => port.postMessage(message)

try {
  serve(workerData as WriterSettings)
} catch (error) {
  send({ opened: false, message: error instanceof Error ? error.message : String(error) })
  port.close()
}

function serve(settings: WriterSettings): void {
  const connection = openJournalFile(settings.file)
  const group = new GroupCommit(connection, new ChangeStatements(connection))
  const retention = new Retention(connection, settings)
  let waiting: NumberedRequest[] = []
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
    const batch = waiting
    waiting = []
    if (batch.length > 0 || group.hasUnwritten) send(group.write(batch))
    if (closing) {
      connection.close()
      port.close()
    } else {
      if (group.hasTraces && performance.now() >= removeTracesAfter) {
        group.removeTraces()
        removeTracesAfter = performance.now() + retryMs
      }
      if (group.hasUnwritten || group.hasTraces) retry = setTimeout(schedule, retryMs)
      if (performance.now() >= pruneAfter) prune()
    }
  }

  function prune(users: readonly string[] = retention.users()): void {
    pruneAfter = performance.now() + pruneEveryMs
    if (!connection.isOpen) return
    const left = users.filter((user) => retention.step(user))
    if (left.length > 0) setImmediate(prune, left)
  }
}
