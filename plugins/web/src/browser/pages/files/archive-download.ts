import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { refusalOf } from '../../refusal.ts'
import * as texts from '../../texts.ts'

const frameName = 'archive'

/**
 * Lets the browser save an archive of some files and folders. It sends a form into a hidden frame: `fetch` would keep the whole
 * archive in the memory of the page. The frame loads something only if there is no archive; then it tells the reason. Nothing tells
 * that the browser saves, so the frame stays until the next archive, or the sign-out.
 */
export function downloadArchive(page: PageContext, paths: readonly string[]): void {
  removeArchiveFrame()
  const frame = document.createElement('iframe')
  frame.name = frameName
  frame.title = texts.files.download
  frame.hidden = true
  const field = document.createElement('input')
  field.name = 'paths'
  field.value = JSON.stringify(paths)
  const form = document.createElement('form')
  form.method = 'post'
  form.action = '/api/files/archive'
  form.target = frame.name
  form.hidden = true
  form.append(field)
  document.body.append(frame, form)
  frame.addEventListener('load', () => {
    // A frame may first load an empty document.
    if (frame.contentDocument?.URL === 'about:blank') return
    page.notice(reasonIn(frame), 'error')
    frame.remove()
  })
  form.submit()
  form.remove()
}

/** Removes the frame of the last archive. What the browser saves already goes on. */
export function removeArchiveFrame(): void {
  document.querySelector(`iframe[name="${frameName}"]`)?.remove()
}

/** Browsers show JSON as text. If the node does not answer, the frame has a document of the browser, which is out of reach. */
function reasonIn({ contentDocument }: HTMLIFrameElement): string {
  const body = contentDocument?.querySelector('pre')?.textContent
  return body ? refusalOf(0, body).message : texts.shell.requestFailed
}
