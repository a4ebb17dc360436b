import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { html } from '../html.ts'
import * as texts from '../texts.ts'
import type { SignIn } from './sign-in.ts'

const loaded = signal<typeof SignIn | null>(null)
const hasFailed = signal(false)

async function load(): Promise<void> {
  try {
    loaded.value ??= (await import('./sign-in.ts')).SignIn
  } catch {
    hasFailed.value = true
  }
}

/** The ways to sign in. They are loaded when somebody needs them: their cryptography is a large part of all scripts. */
export function LateSignIn(props: Parameters<typeof SignIn>[0]): VNode {
  useLayoutEffect(() => void load(), [])
  const view = loaded.value
  if (view !== null) return html`<${view} ...${props} />`
  if (!hasFailed.value) return html`<p class="hint">${texts.shell.loading}</p>`
  // Some browsers remember for the life of a document that a module failed.
  return html`<p role="alert">${texts.shell.pageFailed(texts.signIn.title)}</p>
    <p><button type="button" onClick=${() => location.reload()}>${texts.shell.reload}</button></p>`
}
