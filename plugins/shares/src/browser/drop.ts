/*
 * The script of the form for uploads. Each file goes up in pieces, and goes on from the last byte that the node has, as tus 1.0 says, when the
 * connection breaks off. Without the script, the browser sends the form itself.
 */

import { limitsText } from '../protocol/drop-limits.ts'

/** Bytes of a piece: a connection that breaks off costs no more. */
const pieceBytes = 8 * 1024 * 1024

/** Milliseconds between two attempts, growing. */
const pauses = [1000, 2000, 5000, 10_000, 30_000]

const tus = { 'tus-resumable': '1.0.0' }

const form = document.querySelector<HTMLFormElement>('form.drop')
if (form !== null) form.addEventListener('submit', (event) => void begin(event, form))

/** A refusal of the node. Another attempt would not help. */
class Refusal extends Error {}

async function begin(event: SubmitEvent, drop: HTMLFormElement): Promise<void> {
  event.preventDefault()
  const fields = new FormData(drop)
  const files = fields.getAll('file').filter((value) => value instanceof File && value.name !== '')
  const sender = String(fields.get('sender') ?? '')
  const list = drop.querySelector('.uploads')
  const button = drop.querySelector('button')
  const input = drop.querySelector<HTMLInputElement>('input[type=file]')
  if (list === null || button === null || input === null) return
  button.disabled = true
  tellEnd(drop, '')
  let arrived = 0
  for (const file of files as File[]) {
    if (!(await upload(drop, file, sender, rowIn(list, file.name)))) continue
    arrived += 1
    countDown(drop, file)
  }
  tellEnd(drop, endText(arrived, files.length))
  button.disabled = false
  input.value = ''
}

/** Tells how much is left after a file. The uploads of other guests count, too: the node refuses what is too much, and says so. */
function countDown(drop: HTMLFormElement, { size }: File): void {
  const { dataset } = drop
  const filesLeft = Number(dataset.filesLeft) - 1
  const bytesLeft = Number(dataset.bytesLeft) - size
  dataset.filesLeft = String(filesLeft)
  dataset.bytesLeft = String(bytesLeft)
  const limits = drop.querySelector('.limits')
  if (limits !== null)
    limits.textContent = limitsText({ filesLeft, bytesLeft, maxFileSize: Number(dataset.maxFileSize) })
}

function tellEnd(drop: HTMLFormElement, text: string): void {
  const end = drop.querySelector('.ended')
  if (end !== null) end.textContent = text
}

function endText(arrived: number, files: number): string {
  if (arrived < files) return `${arrived} of ${files} files arrived.`
  return files === 1 ? 'All done: the file has arrived.' : `All done: ${files} files have arrived.`
}

/** A line of the list of uploads. */
interface Row {
  tell(fraction: number): void
  end(text: string, isFault: boolean): void
}

function rowIn(list: Element, name: string): Row {
  const [row, label, bar] = [
    document.createElement('li'),
    document.createElement('bdi'),
    document.createElement('progress'),
  ]
  label.textContent = name
  bar.value = 0
  bar.setAttribute('aria-label', name)
  row.append(label, bar)
  list.append(row)
  return {
    tell(fraction) {
      bar.value = fraction
    },
    end(text, isFault) {
      const note = document.createElement('span')
      note.className = isFault ? 'fault' : 'note'
      note.textContent = text
      bar.replaceWith(note)
    },
  }
}

/** Whether the file arrived. */
async function upload(drop: HTMLFormElement, file: File, sender: string, row: Row): Promise<boolean> {
  let address: string | null = null
  for (let failures = 0; ; ) {
    try {
      address ??= await newUpload(drop, file, sender)
      let offset = file.size === 0 ? 0 : await offsetOf(address)
      while (offset < file.size) {
        offset = await send(address, file, offset, row)
        failures = 0
      }
      row.end('Arrived', false)
      return true
    } catch (error) {
      if (error instanceof Refusal) {
        row.end(error.message, true)
        return false
      }
      const pause = pauses[failures]
      if (pause === undefined) {
        row.end('The node cannot be reached. Try again later.', true)
        return false
      }
      failures += 1
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  }
}

async function newUpload(drop: HTMLFormElement, file: File, sender: string): Promise<string> {
  const metadata = [`filename ${base64(file.name)}`, ...(sender === '' ? [] : [`sender ${base64(sender)}`])]
  const headers = { ...tus, 'upload-length': String(file.size), 'upload-metadata': metadata.join(',') }
  const answer = await fetch(`/s/${drop.dataset.token}/uploads`, { method: 'POST', headers })
  await refuse(answer)
  return answer.headers.get('location') ?? ''
}

async function offsetOf(address: string): Promise<number> {
  const answer = await fetch(address, { method: 'HEAD', headers: tus })
  await refuse(answer)
  return Number(answer.headers.get('upload-offset'))
}

/** Sends a piece, and returns the offset of the next one. `fetch` tells no progress of an upload. */
function send(address: string, file: File, offset: number, row: Row): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('PATCH', address)
    request.setRequestHeader('tus-resumable', tus['tus-resumable'])
    request.setRequestHeader('upload-offset', String(offset))
    request.setRequestHeader('content-type', 'application/offset+octet-stream')
    request.upload.onprogress = ({ loaded }) => row.tell((offset + loaded) / file.size)
    request.onerror = () => reject(new TypeError('The connection broke off.'))
    request.onload = () => {
      const { status, responseText } = request
      if (status === 204) resolve(Number(request.getResponseHeader('upload-offset')))
      else
        reject(isPassing(status) ? new TypeError('The node is busy.') : new Refusal(messageIn(responseText)))
    }
    request.send(file.slice(offset, offset + pieceBytes))
  })
}

/** @throws Refusal; TypeError if another attempt may help */
async function refuse(answer: Response): Promise<void> {
  if (answer.ok) return
  if (isPassing(answer.status)) throw new TypeError('The node is busy.')
  throw new Refusal(messageIn(await answer.text()))
}

/** Whether a failure passes: the offset is another one, too many requests came, or the node or a proxy is busy. */
function isPassing(status: number): boolean {
  return [408, 409, 429, 500, 502, 503, 504].includes(status)
}

function messageIn(body: string): string {
  try {
    return String((JSON.parse(body) as { message: unknown }).message)
  } catch {
    return 'The node did not take the file. Load the page again.'
  }
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)))
}
