/** The thread that writes the journal. It does one batch after the other; what comes meanwhile is the next one. */
import type { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { Ballast } from './ballast.ts'
import { isDiskFull } from './full-disk.ts'
import { GroupCommit } from './group-commit.ts'
import { Ledger } from './ledger.ts'
import { openJournalFile } from './open-journal-file.ts'
import type { FromWriter, NumberedRequest, ToWriter, WriterSettings } from './protocol.ts'
import { Retention } from './retention.ts'

const retryMs = 1000
const pruneEveryMs = 60 * 60 * 1000

if (parentPort === null) throw new Error('This file is the beginning of a worker thread.')
const port = parentPort
const send = (message: FromWriter) => port.postMessage(message)

try {
  serve(workerData as WriterSettings)
} catch (error) {
  send({ opened: false, message: error instanceof Error ? error.message : String(error) })
  port.close()
}

function serve(settings: WriterSettings): void {
  const ballast = new Ballast(`${settings.file.replace(/\.sqlite$/, '')}.ballast`)
  const connection = openWithRoom(settings.file, ballast)
  const group = new GroupCommit(connection, new Ledger(connection), ballast)
  const retention = new Retention(connection, settings)
  let waiting: NumberedRequest[] = []
  let closing = false
  let scheduled = false
  let retry: NodeJS.Timeout | undefined
  let pruneAfter = 0

  port.on('message', (message: ToWriter) => {
    if (message === 'close') closing = true
    else waiting.push(...message)
    schedule()
  })
  send({ opened: true })
  ballast.restore()
  prune()

  function schedule(): void {
    if (!scheduled) setImmediate(flush)
    scheduled = true
  }

  function flush(): void {
    scheduled = false
    clearTimeout(retry)
    const batch = waiting
    waiting = []
    if (batch.length > 0 || group.owes) send(group.write(batch))
    if (closing) {
      connection.close()
      port.close()
    } else {
      if (group.owes) retry = setTimeout(schedule, retryMs)
      ballast.restore()
      if (Date.now() >= pruneAfter) prune()
    }
  }

  function prune(users: readonly string[] = retention.users()): void {
    pruneAfter = Date.now() + pruneEveryMs
    if (!connection.isOpen) return
    const left = users.filter((user) => retention.step(user))
    if (left.length > 0) setImmediate(prune, left)
  }
}

/** SQLite makes a file when it opens one, for which there may be no room. */
function openWithRoom(file: string, ballast: Ballast): DatabaseSync {
  try {
    return openJournalFile(file)
  } catch (error) {
    if (!isDiskFull((error as Error).cause) || !ballast.giveUp()) throw error
    return openJournalFile(file)
  }
}
