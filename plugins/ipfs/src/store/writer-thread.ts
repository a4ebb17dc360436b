/**
 * The thread that changes the store. Requests that arrive while it works are performed together. It imports parts of the SDK only: the
 * whole SDK would take most of the time of its start.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '@nodekeep/plugin-sdk/thread-parts'
import { openWriter } from './open-writer.ts'
import type { FromWriter, NumberedRequest, ToWriter, WriterSettings } from './protocol.ts'

if (parentPort === null) throw new Error('This file is the entry point of a worker thread.')
const port = parentPort
const settings = workerData as WriterSettings
const send = (message: FromWriter) => port.postMessage(message)

try {
  await serve()
} catch (error) {
  send({ opened: false, message: messageOf(error) })
  port.close()
}

async function serve(): Promise<void> {
  const { writer, lock } = await openWriter(settings, send)
  let waiting: NumberedRequest[] = []
  let isClosing = false
  let isScheduled = false
  let retry: NodeJS.Timeout | undefined

  const records = setInterval(() => {
    writer.record()
    schedule()
  }, settings.recordEveryMs)
  port.on('message', (message: ToWriter) => {
    if (message === 'close') isClosing = true
    else waiting.push(...message)
    schedule()
  })
  send({ opened: true })
  schedule()

  function schedule(): void {
    if (!isScheduled) setImmediate(work)
    isScheduled = true
  }

  function work(): void {
    isScheduled = false
    clearTimeout(retry)
    const requests = waiting
    waiting = []
    try {
      if (requests.length > 0) writer.perform(requests)
      if (isClosing) {
        close()
        return
      }
      // A step of the upkeep waits until no request does.
      const pause = requests.length > 0 ? 0 : writer.step()
      if (pause === 0) schedule()
      else if (pause !== null) retry = setTimeout(schedule, pause)
    } catch (error) {
      writer.abandon(error)
      lock[Symbol.dispose]()
      throw error
    }
  }

  function close(): void {
    clearInterval(records)
    writer.close()
    lock[Symbol.dispose]()
    port.close()
  }
}
