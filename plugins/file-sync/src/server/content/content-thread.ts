/** The thread that cuts and hashes contents. They arrive in pieces, those of several files in turn. */
import { createHash } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import { type Content, ContentBlocks } from '../../protocol/content-blocks.ts'

/** Messages to the thread: a file begins, bytes of it, it is complete, nobody wants it any more. */
export type ToContentThread =
  | { readonly id: number; readonly size: number }
  | { readonly id: number; readonly bytes: Uint8Array }
  | { readonly id: number; readonly end: true }
  | { readonly id: number; readonly cancel: true }

/** Messages from the thread: one for each message with bytes, and at last the content. */
export type FromContentThread = { readonly id: number; readonly content?: Content }

if (parentPort === null) throw new Error('This file is the entry point of a worker thread.')
const port = parentPort
const running = new Map<number, ContentBlocks>()

port.on('message', (message: ToContentThread) => {
  const { id } = message
  if ('size' in message) running.set(id, new ContentBlocks(message.size, () => createHash('sha256')))
  else if ('bytes' in message) {
    running.get(id)?.add(message.bytes)
    send({ id })
  } else {
    const content = running.get(id)
    running.delete(id)
    if ('end' in message && content !== undefined) send({ id, content: content.end() })
  }
})

function send(message: FromContentThread): void {
  port.postMessage(message)
}
