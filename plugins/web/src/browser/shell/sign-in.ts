import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { html } from '../html.ts'
import { accepted, Refusal } from '../refusal.ts'
import { BrowserKey } from '../sign-in/browser-key/browser-key.ts'
import { BrowserWallets } from '../sign-in/browser-wallets.ts'
import { CommandLine } from '../sign-in/command-line.ts'
import { OneTimeCode } from '../sign-in/one-time-code.ts'
import type { SignInMethod } from '../sign-in/sign-in-method.ts'
import { signInWithWallet } from '../sign-in/wallet-sign-in.ts'
import { texts } from '../texts.ts'
import { claimInAddress, navigate } from './address.ts'
import { noticeFailure } from './notices.ts'
import { get, loadSession } from './session.ts'

/** The ways to sign in, in the order in which they are shown, and the login provider that each needs. */
const methods: readonly { readonly method: SignInMethod; readonly provider?: string }[] = [
  { method: BrowserWallets, provider: 'siwe' },
  { method: BrowserKey, provider: 'siwe' },
  { method: OneTimeCode, provider: 'code' },
  { method: CommandLine },
]

/** The login providers of the node; `null` until it has told. */
const providers = signal<readonly string[] | null>(null)

async function loadProviders(): Promise<void> {
  const answer = await accepted(await get('/api/web/sign-in'))
  providers.value = ((await answer.json()) as NodeAnswers['GET /api/web/sign-in']).providers
}

const typedClaim = signal<string | null>(null)

interface Attempt {
  /** The way that the person tries; `null` if none. */
  readonly method: SignInMethod | null
  readonly working: boolean
  readonly fault: string
}

const none: Attempt = { method: null, working: false, fault: '' }

/** The last attempt. A wallet may never answer, so the other ways stay open meanwhile. */
const attempt = signal(none)

/** The form to sign in, also in the dialog over a page. */
export function SignIn({ again = false }: { again?: boolean }): VNode {
  const claim = typedClaim.value ?? claimInAddress.value
  useEffect(() => {
    attempt.value = none
    loadProviders().catch((error: unknown) => noticeFailure(error, texts.signIn.failed))
  }, [])
  const known = providers.value
  const shown = methods.filter(
    ({ provider }) => known && (provider === undefined || known.includes(provider)),
  )
  const run = async (method: SignInMethod, work: () => Promise<void>) => {
    const begun: Attempt = { method, working: true, fault: '' }
    attempt.value = begun
    let ended = none
    try {
      await work()
      await loadSession()
      typedClaim.value = null
      if (claimInAddress.value !== '') navigate('/')
    } catch (error) {
      ended = { method, working: false, fault: faultOf(error) }
    }
    if (attempt.value === begun) attempt.value = ended
  }
  const signIn = (address: string, sign: (message: string) => Promise<string>) =>
    signInWithWallet(address, sign, claim.trim())
  return html`<div class="sign-in">
    ${
      !again &&
      html`<details open=${claimInAddress.value !== ''}>
        <summary>${texts.signIn.hasClaim}</summary>
        <p>${texts.signIn.claim}</p>
        <label>
          ${texts.signIn.claimCode}
          <input
            value=${claim}
            autocomplete="off"
            spellcheck=${false}
            onInput=${({ target }: InputEvent) => {
              typedClaim.value = (target as HTMLInputElement).value
            }}
          />
        </label>
        <p class="hint">${texts.signIn.claimHint}</p>
      </details>`
    }
    ${shown.map(({ method }) => {
      const { working, fault } = attempt.value.method === method ? attempt.value : none
      return html`<${method}
          working=${working}
          run=${(work: () => Promise<void>) => run(method, work)}
          signIn=${signIn}
        />
        <${Fault} text=${fault} />`
    })}
  </div>`
}

/** The reason of a failure, below the way that failed, and in view. */
function Fault({ text }: { text: string }): VNode {
  const element = useRef<HTMLParagraphElement>(null)
  useEffect(() => {
    if (text !== '') element.current?.scrollIntoView({ block: 'nearest' })
  }, [text])
  return html`<p class="fault" role="alert" ref=${element}>${text}</p>`
}

function faultOf(error: unknown): string {
  if (error instanceof Refusal) return error.message
  const { code, message } = Object(error) as { code?: unknown; message?: unknown }
  // EIP-1193: the person has refused.
  if (code === 4001) return texts.signIn.declined
  if (error instanceof TypeError || typeof message !== 'string') return texts.signIn.failed
  return texts.signIn.walletFailed(message)
}
