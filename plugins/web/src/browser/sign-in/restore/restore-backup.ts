import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { bytesText } from '../../bytes-text.ts'
import { Field } from '../../field.ts'
import { focusAtFirst } from '../../focus.ts'
import { html } from '../../html.ts'
import { Refusal } from '../../refusal.ts'
import { reasonOf } from '../../request.ts'
import * as texts from '../../texts.ts'
import { dateText } from '../../times.ts'
import { Mark } from '../mark.ts'
import { BackupUpload, type Comparison, type UploadedBackup } from './backup-upload.ts'

interface RestoreBackupProps {
  /** The claim code. */
  readonly claim: string
  /** Called if the node refuses the claim code, with its words. */
  onRefused(reason: string): void
  /** Called when the node has restarted with the backup. */
  onDone(moment: string): void
  onBack(): void
}

/** The step that the restore is at. */
type Step =
  | { readonly kind: 'choose' }
  | { readonly kind: 'upload'; readonly bytes: number; readonly sent: number }
  | { readonly kind: 'unlock'; readonly backup: UploadedBackup }
  | { readonly kind: 'read'; readonly share: number }
  | { readonly kind: 'confirm'; readonly found: Comparison }
  | { readonly kind: 'restart'; readonly found: Comparison; readonly byItself: boolean }

/** The first byte of a gzip file (RFC 1952, section 2.3.1), as every backup is one. */
const gzipMagic = 0x1f

/** Milliseconds between two questions how far the node is. */
const pauseMs = 1000

const text = texts.signIn.restore

/** Restores a backup on a node without an owner: uploads it, shows what comes, and follows the node through its restart. */
export function RestoreBackup({ claim, onRefused, onDone, onBack }: RestoreBackupProps): VNode {
  const step = useSignal<Step>({ kind: 'choose' })
  const fault = useSignal('')
  const newIdentity = useSignal(false)
  const leaving = useRef(new AbortController())
  const upload = new BackupUpload(claim)
  useLayoutEffect(() => () => leaving.current.abort(), [])
  const { kind } = step.value
  useLayoutEffect(() => {
    if (kind !== 'upload' && kind !== 'read') return
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [kind])

  /** Runs a step. If it fails, the one before comes back, with the reason. */
  const run = async (work: (signal: AbortSignal) => Promise<void>, before: Step) => {
    const { signal } = leaving.current
    fault.value = ''
    try {
      await work(signal)
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof Refusal && error.status === 403) return onRefused(error.message)
      step.value = before
      fault.value = error instanceof TypeError ? text.broken : reasonOf(error)
    }
  }
  const send = (file: File) =>
    run(
      async (signal) => {
        const shown = (sent: number) => {
          step.value = { kind: 'upload', bytes: file.size, sent }
        }
        shown(0)
        const [first] = new Uint8Array(await file.slice(0, 1).arrayBuffer())
        if (first !== gzipMagic) throw new Error(text.noBackup)
        // A wrong claim code is told before the file is sent.
        await upload.share(signal)
        const backup = await upload.send(file, shown, signal)
        if (backup.encrypted) step.value = { kind: 'unlock', backup }
        else await read(signal)
      },
      { kind: 'choose' },
    )
  const read = async (signal: AbortSignal, key?: string) => {
    step.value = { kind: 'read', share: 0 }
    const ended = new AbortController()
    void follow(AbortSignal.any([signal, ended.signal]))
    try {
      const choices = { newIdentity: newIdentity.value, ...(key !== undefined && { key }) }
      step.value = { kind: 'confirm', found: await upload.compare(choices, signal) }
    } finally {
      ended.abort()
    }
  }
  /** Shows how much was read. */
  const follow = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      const share = await upload.share(signal).catch(() => null)
      if (share !== null && step.value.kind === 'read') step.value = { kind: 'read', share }
      await pause(signal)
    }
  }
  const confirm = (found: Comparison) =>
    run(
      async (signal) => {
        step.value = { kind: 'restart', found, byItself: await upload.confirm(found.prepared) }
        while (!signal.aborted && !(await upload.isDone(signal))) await pause(signal)
        if (!signal.aborted) onDone(found.moment)
      },
      { kind: 'confirm', found },
    )
  const choose = ({ target }: Event) => {
    const [file] = (target as HTMLInputElement).files ?? []
    if (file !== undefined) void send(file)
  }
  const unlock = (event: SubmitEvent, before: Step) => {
    event.preventDefault()
    const key = String(new FormData(event.target as HTMLFormElement).get('key') ?? '').trim()
    void run((signal) => read(signal, key), before)
  }
  const change = ({ target }: Event) => {
    newIdentity.value = (target as HTMLInputElement).checked
  }
  const back = html`<button type="button" onClick=${onBack}>${texts.cancel}</button>`
  const heading = (title: string) =>
    html`<${Mark} /><h1 key=${title} tabindex="-1" ref=${focusAtFirst}>${title}</h1>`
  const problem = html`<p class="fault" role="alert">${fault.value}</p>`
  const now = step.value
  if (now.kind === 'choose') {
    return html`<div class="step">
      ${heading(text.title)}
      <p>${text.explanation}</p>
      <label class="choice"><input type="checkbox" checked=${newIdentity.value} onChange=${change} />${text.newIdentity}</label>
      <label>${text.file}<input type="file" accept=".gz,application/gzip" onChange=${choose} /></label>
      ${problem}
      <p class="choices">${back}</p>
    </div>`
  }
  if (now.kind === 'upload') {
    return html`<div class="step">
      ${heading(text.uploading)}
      <progress max=${Math.max(now.bytes, 1)} value=${now.sent} aria-label=${text.uploading}></progress>
      <p class="hint" role="status">${text.sent(bytesText(now.sent), bytesText(now.bytes))}</p>
      <p class="choices">${back}</p>
    </div>`
  }
  if (now.kind === 'unlock') {
    return html`<form class="step" onSubmit=${(event: SubmitEvent) => unlock(event, now)}>
      ${heading(text.unlockTitle)}
      <p>${text.unlockText(dateText(now.backup.created))}</p>
      <${Field} type="password" name="key" label=${text.key} fault=${fault.value} required autocomplete="off" />
      <p class="choices"><button type="submit" class="main">${text.unlock}</button>${back}</p>
    </form>`
  }
  if (now.kind === 'read') {
    return html`<div class="step">
      ${heading(text.reading)}
      <progress value=${now.share} aria-label=${text.reading}></progress>
      <p class="hint">${text.readingText}</p>
      <p class="choices">${back}</p>
    </div>`
  }
  if (now.kind === 'confirm') {
    return html`<div class="step">
      ${heading(text.found(dateText(now.found.moment)))}
      <ul>${linesOf(now.found).map((line) => html`<li key=${line}>${line}</li>`)}</ul>
      ${problem}
      <p class="choices">
        <button type="button" class="main" onClick=${() => confirm(now.found)}>${text.agree}</button>
        ${back}
      </p>
    </div>`
  }
  return html`<div class="step">
    ${heading(now.byItself ? text.restarting : text.restartTitle)}
    <p role="status">${now.byItself ? text.follows : text.restartText}</p>
    <progress aria-label=${text.waiting}></progress>
  </div>`
}

/** Returns what the restore brings, for people. */
function linesOf({ addedUsers, owner, identity }: Comparison): string[] {
  const { count, first } = addedUsers
  const others = count - first.length
  const lines = [
    text.people(count, [...first, ...(others > 0 ? [texts.node.restore.more(others)] : [])].join(', ')),
  ]
  lines.push(owner.restored === null ? text.noOwner : text.owner(owner.restored.username))
  if (identity === 'another') lines.push(texts.node.restore.identity.another ?? '')
  return [...lines, text.sameSignIn]
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, pauseMs)
    signal.addEventListener('abort', end)
  })
}
