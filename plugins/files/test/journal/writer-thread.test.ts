import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import t from 'tap'

/** Tells the parent each module that a file loads. */
const program = `
const { registerHooks } = require('node:module')
const { parentPort, workerData } = require('node:worker_threads')
registerHooks({
  load(url, context, next) {
    parentPort.postMessage(url)
    return next(url, context)
  },
})
import(workerData).catch(() => {})
`

t.test(
  'the thread of the journal loads no libraries, which would take most of the time of a start',
  async (t) => {
    const file = new URL('../../src/journal/writer-thread.ts', import.meta.url)
    const thread = new Worker(program, { eval: true, workerData: file.href })
    const loaded: string[] = []
    thread.on('message', (message) => {
      if (typeof message === 'string') loaded.push(message)
    })
    await once(thread, 'exit')
    t.ok(loaded.includes(file.href))
    t.strictSame(
      loaded.filter((url) => url.includes('/node_modules/')),
      [],
    )
  },
)
