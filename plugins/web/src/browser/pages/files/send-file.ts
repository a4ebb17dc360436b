import { isOfProxy, Refusal, refusalOf } from '../../refusal.ts'
import { undoHeader } from './last-change.ts'
import type { Attempt } from './tasks.ts'

interface SentFile extends Pick<Attempt, 'signal' | 'progress' | 'answered'> {
  readonly method: 'POST' | 'PUT' | 'PATCH'
  readonly address: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Sends a file, or a part of it, once, and resolves to the text of the answer or to a refusal, with the status 0 if the node does not answer. The
 * browser streams the file from the disk, so a large one takes no memory of the page. `fetch` does not tell how far an upload is, so
 * this is a request of XMLHttpRequest.
 */
export function sendFile(
  file: Blob,
  { method, address, headers, signal, progress, answered }: SentFile,
): Promise<string | Refusal> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest()
    request.upload.addEventListener('progress', ({ loaded, total }) => {
      progress(loaded / Math.max(total, 1))
    })
    request.addEventListener('loadend', () => {
      const { status, responseText } = request
      if (status >= 200 && status < 300) {
        answered(request.getResponseHeader(undoHeader))
        resolve(responseText)
      } else if (isOfProxy(status, request.getResponseHeader('content-type'))) resolve(new Refusal(0, ''))
      else resolve(refusalOf(status, responseText))
    })
    signal.addEventListener('abort', () => request.abort())
    request.open(method, address)
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
    request.send(file)
  })
}
