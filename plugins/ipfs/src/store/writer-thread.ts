/** The thread that changes the store. Requests that arrive while it works are performed together. */
import { parentPort, workerData } from 'node:worker_threads'
import type { FromWriter, NumberedRequest, ToWriter, WriterSettings } from './protocol.ts'
import { openIndex } from './schema.ts'
import { StoreWriter } from './store-writer.ts'

if (parentPort === null) throw new Error('This file is the entry point of a worker thread.')
const port = parentPort
const send = (message: FromWriter) => port.postMessage(message)

try {
  serve(workerData as WriterSettings)
} catch (error) {
  send({ opened: false, message: error instanceof Error ? error.message : String(error) })
  port.close()
}

function serve({ file, folder, packBytes }: WriterSettings): void {
  const writer = new StoreWriter(openIndex(file), folder, packBytes)
  let waiting: NumberedRequest[] = []
  let isClosing = false
  let isScheduled = false
  let isSweeping = true

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
    const requests = waiting
    waiting = []
    if (requests.length > 0) {
      send({ answers: writer.perform(requests) })
      isSweeping = true
    }
    if (isClosing) {
      writer.close()
      port.close()
    } else if (isSweeping && requests.length === 0) {
      isSweeping = writer.sweep()
    }
    if (isSweeping && !isClosing) schedule()
  }
}
