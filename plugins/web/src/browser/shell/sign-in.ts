import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Field } from '../field.ts'
import { html } from '../html.ts'
import { accepted, Refusal } from '../refusal.ts'
import { reasonOf } from '../request.ts'
import { AskOwner } from '../sign-in/ask-owner.ts'
import { BrowserKey } from '../sign-in/browser-key/browser-key.ts'
import { BrowserWallets } from '../sign-in/browser-wallets.ts'
import { CommandLine } from '../sign-in/command-line.ts'
import { faultOf } from '../sign-in/fault-of.ts'
import { NameStep } from '../sign-in/name-step.ts'
import { OneTimeCode } from '../sign-in/one-time-code.ts'
import { post } from '../sign-in/post.ts'
import type { SignInMethod } from '../sign-in/sign-in-method.ts'
import { type Sign, walletProof } from '../sign-in/wallet-proof.ts'
import { texts } from '../texts.ts'
import { isUnnamed } from '../user-name.ts'
import { claimInAddress, navigate } from './address.ts'
import { nodeName } from './node-name.ts'
import { noticeFailure } from './notices.ts'
import { get, loadSession } from './session.ts'

interface Way {
  readonly method: SignInMethod
  /** The login provider that it needs. */
  readonly provider?: string
}

const wallets: Way = { method: BrowserWallets, provider: 'siwe' }
const key: Way = { method: BrowserKey, provider: 'siwe' }
const code: Way = { method: OneTimeCode, provider: 'code' }
const commandLine: Way = { method: CommandLine }

/** The ways to sign in, in the order in which they are shown. Most people who claim a node have no wallet. */
const ways = { claimed: [wallets, key, code, commandLine], unclaimed: [key, wallets, commandLine] }

type NodeWays = NodeAnswers['GET /api/web/sign-in']

/** The answer of the node about the ways to sign in; `null` until it has told. */
const node = signal<NodeWays | null>(null)

async function askNodeForWays(): Promise<NodeWays> {
  const told = (await (await accepted(await get('/api/web/sign-in'))).json()) as NodeWays
  node.value = told
  nodeName.value = told.name
  return told
}

/** The claim code that the person typed. Its field is shown once there is one, and while the address has none. */
const typedClaim = signal<string | null>(null)
const claimFault = signal('')

interface Attempt {
  /** The way that the person tries; `null` if none. */
  readonly method: SignInMethod | null
  readonly working: boolean
  readonly fault: string
}

const none: Attempt = { method: null, working: false, fault: '' }

/** The last attempt. A wallet may never answer, so the other ways stay open meanwhile. */
const attempt = signal(none)

/** A step that a person has to take after they have proven their wallet. */
type Step =
  | { readonly kind: 'name'; readonly name: string; readonly fault: string }
  | { readonly kind: 'ask'; readonly address: string; readonly sign: Sign; readonly name: string }

const step = signal<Step | null>(null)

/** Ends an attempt whose reason the page shows at another place. */
const toldElsewhere = new Error('The reason is shown at another place.')

/** The form to sign in, also in the dialog over a page. */
export function SignIn({ again = false }: { again?: boolean }): VNode {
  const claim = (typedClaim.value ?? claimInAddress.value).trim()
  useEffect(() => {
    attempt.value = none
    step.value = null
    askNodeForWays().catch((error: unknown) => noticeFailure(error, texts.signIn.failed))
  }, [])
  const told = node.value
  if (told === null) return html`<p class="hint">${texts.shell.loading}</p>`
  const isNew = !told.claimed
  const run = async (method: SignInMethod, work: () => Promise<void>) => {
    const begun: Attempt = { method, working: true, fault: '' }
    attempt.value = begun
    claimFault.value = ''
    let ended = none
    try {
      await work()
      await enter()
    } catch (error) {
      ended = { method, working: false, fault: error === toldElsewhere ? '' : faultOf(error) }
    }
    if (attempt.value === begun) attempt.value = ended
  }
  /** Resolves to whether the node admits the wallet. */
  const proveAndEnter = async (address: string, sign: Sign): Promise<SignedInUser | null> => {
    const proof = await walletProof(address, sign)
    try {
      return (await post<SignedIn>('/auth/siwe', { ...proof, ...(claim !== '' && { claim }) })).user
    } catch (error) {
      if (again || !(error instanceof Refusal) || error.status !== 403) throw error
      if ((await askNodeForWays()).claimed) return null
      claimFault.value = error.message
      throw toldElsewhere
    }
  }
  const signIn = async (address: string, sign: Sign, name = '') => {
    if (isNew && claim === '') {
      claimFault.value = texts.signIn.claimMissing
      throw toldElsewhere
    }
    const user = await proveAndEnter(address, sign)
    if (user === null) step.value = { kind: 'ask', address, sign, name }
    else if (again || (await hasName(user, name))) return
    throw toldElsewhere
  }
  const next = step.value
  if (next?.kind === 'name') {
    const onName = async (name: string) => {
      await rename(name)
      await enter()
    }
    return html`<${NameStep} name=${next.name} fault=${next.fault} onName=${onName} onSkip=${enter} />`
  }
  if (next?.kind === 'ask') {
    const { address, sign, name } = next
    const send = async (username: string) => {
      const proof = await walletProof(address, sign)
      await post('/auth/access-requests', { provider: 'siwe', ...proof, username })
    }
    const tryAgain = async () => {
      const user = await proveAndEnter(address, sign)
      if (user !== null && (await hasName(user, name))) await enter()
      return user !== null
    }
    const back = () => {
      step.value = null
    }
    return html`<${AskOwner} address=${address} name=${name} send=${told.requests ? send : null} signIn=${tryAgain} onBack=${back} />`
  }
  const shown = ways[isNew ? 'unclaimed' : 'claimed'].filter(
    ({ provider }) => provider === undefined || told.providers.includes(provider),
  )
  return html`<div class=${isNew ? 'sign-in new' : 'sign-in'}>
    ${!again && (isNew ? html`<${Welcome} />` : html`<h1>${texts.signIn.title}</h1>`)}
    ${shown.map(({ method }) => {
      const { working, fault } = attempt.value.method === method ? attempt.value : none
      return html`<${method}
          isNew=${isNew}
          working=${working}
          run=${(work: () => Promise<void>) => run(method, work)}
          signIn=${signIn}
        />
        <${Fault} text=${fault} />`
    })}
  </div>`
}

type SignedIn = NodeAnswers['POST /auth/{provider}']
type SignedInUser = SignedIn['user']

const rename = (username: string) => post('/api/account', { username }, 'PATCH')

/**
 * Gives a user without a name the one that the person has chosen. If there is none, or the node refuses it, the person is asked next.
 *
 * @returns whether the user has a name now
 */
async function hasName(user: SignedInUser, chosen: string): Promise<boolean> {
  if (!isUnnamed(user)) return true
  const fault = chosen === '' ? '' : await rename(chosen).then(() => null, reasonOf)
  if (fault !== null) step.value = { kind: 'name', name: chosen, fault }
  return fault === null
}

/** Shows the pages, to a person who has signed in. */
async function enter(): Promise<void> {
  await loadSession()
  step.value = null
  typedClaim.value = null
  if (claimInAddress.value !== '') navigate('/')
}

/** Welcomes the person who claims the node. A code in the address is not shown, unless the node has refused it. */
function Welcome(): VNode {
  const isAsked = typedClaim.value !== null || claimInAddress.value === '' || claimFault.value !== ''
  const type = ({ target }: InputEvent) => {
    typedClaim.value = (target as HTMLInputElement).value
  }
  const { welcome, welcomeText, claimCode, claimHint } = texts.signIn
  return html`<img src="/web/icon.svg" alt="" width="44" height="44" />
    <h1>${welcome}</h1>
    <p>${welcomeText}</p>
    ${
      isAsked &&
      html`<${Field}
        label=${claimCode}
        hint=${claimHint}
        fault=${claimFault.value}
        value=${typedClaim.value ?? claimInAddress.value}
        autocomplete="off"
        autocapitalize="characters"
        spellcheck=${false}
        onInput=${type}
      />`
    }`
}

/** The reason of a failure, below the way that failed, and in view. */
function Fault({ text }: { text: string }): VNode {
  const element = useRef<HTMLParagraphElement>(null)
  useEffect(() => {
    if (text !== '') element.current?.scrollIntoView({ block: 'nearest' })
  }, [text])
  return html`<p class="fault" role="alert" ref=${element}>${text}</p>`
}
