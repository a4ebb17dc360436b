import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Field } from '../field.ts'
import { html } from '../html.ts'
import { type IconName, icon } from '../icon.ts'
import { accepted, Refusal } from '../refusal.ts'
import { reasonOf } from '../request.ts'
import { AskOwner } from '../sign-in/ask-owner.ts'
import { KeepKey } from '../sign-in/browser-key/keep-key.ts'
import { ImportedKeyWay, NewAccountWay } from '../sign-in/browser-key/new-key-ways.ts'
import { signerOf } from '../sign-in/browser-key/sign-with-key.ts'
import { keptKey, readKeptKey, StoredKeyWay } from '../sign-in/browser-key/stored-key-way.ts'
import { BrowserWallets, wallets } from '../sign-in/browser-wallets.ts'
import { CommandLine } from '../sign-in/command-line.ts'
import { faultOf } from '../sign-in/fault-of.ts'
import { Mark } from '../sign-in/mark.ts'
import { NameStep } from '../sign-in/name-step.ts'
import { OneTimeCode } from '../sign-in/one-time-code.ts'
import { post } from '../sign-in/post.ts'
import { RestoreBackup } from '../sign-in/restore/restore-backup.ts'
import type { SignInMethod } from '../sign-in/sign-in-method.ts'
import { type Sign, walletProof } from '../sign-in/wallet-proof.ts'
import * as texts from '../texts.ts'
import { dateText } from '../times.ts'
import { isUnnamed } from '../user-name.ts'
import { claimInAddress, codeInAddress, navigate } from './address.ts'
import { beginFirstSteps } from './first-steps.ts'
import { nodeName } from './node-name.ts'
import { noticeFailure } from './notices.ts'
import { get, loadSession } from './session.ts'
import { setTitle } from './title.ts'

interface Way {
  readonly name: 'key' | 'wallet' | 'account' | 'code' | 'import' | 'machine'
  readonly icon: IconName
  readonly method: SignInMethod
  /** Whether the person can use it here. */
  isUsable(told: NodeWays, again: boolean): boolean
}

const hasSiwe = ({ providers }: NodeWays) => providers.includes('siwe')

/** The ways to sign in, in the order in which they are offered. */
const ways: readonly Way[] = [
  {
    name: 'key',
    icon: 'key-round',
    method: StoredKeyWay,
    isUsable: (told) => hasSiwe(told) && keptKey.value !== null,
  },
  {
    name: 'wallet',
    icon: 'lock',
    method: BrowserWallets,
    isUsable: (told) => hasSiwe(told) && wallets().length > 0,
  },
  {
    name: 'account',
    icon: 'user-plus',
    method: NewAccountWay,
    isUsable: (told, again) => hasSiwe(told) && keptKey.value === null && !again,
  },
  {
    name: 'code',
    icon: 'qr-code',
    method: OneTimeCode,
    // On a node without an owner, nobody can have made a code yet.
    isUsable: ({ providers, claimed }) => providers.includes('code') && claimed,
  },
  {
    name: 'import',
    icon: 'file-text',
    method: ImportedKeyWay,
    isUsable: (told) => hasSiwe(told) && keptKey.value === null,
  },
  // A node without an owner has printed the command with the claim code.
  { name: 'machine', icon: 'terminal', method: CommandLine, isUsable: ({ claimed }) => claimed },
]

/** The ways of which the first usable one is open at the beginning. Most people who claim a node have no wallet. */
const firstWays = { claimed: ['code', 'key', 'wallet'], unclaimed: ['key', 'account'] } as const

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

/** A step that a person has to take before or after they have proven their wallet. */
type Step =
  | { readonly kind: 'keep'; readonly key: Uint8Array; readonly name: string }
  | { readonly kind: 'restore' }
  | { readonly kind: 'name'; readonly name: string; readonly fault: string }
  | { readonly kind: 'ask'; readonly address: string; readonly sign: Sign; readonly name: string }

const step = signal<Step | null>(null)

/** Ends an attempt whose reason the page shows at another place. */
const toldElsewhere = new Error('The reason is shown at another place.')

/** The way that the person has chosen. */
const chosen = signal<Way['name'] | null>(null)

/** The moment of the backup that the node has just restored, ISO 8601. */
const restoredMoment = signal<string | null>(null)

/** The form to sign in, also in the dialog over a page. */
export function SignIn({ again = false }: { again?: boolean }): VNode {
  const claim = (typedClaim.value ?? claimInAddress.value).trim()
  useLayoutEffect(() => {
    attempt.value = none
    step.value = null
    chosen.value = null
    readKeptKey()
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
  const enterWith = (key: Uint8Array, name = '') => run(StoredKeyWay, () => signIn(...signerOf(key), name))
  const stateOf = (method: SignInMethod) => (attempt.value.method === method ? attempt.value : none)
  const claimField = isNew && html`<${ClaimField} />`
  const next = step.value
  if (next?.kind === 'keep') {
    const { key, name } = next
    const { working, fault } = stateOf(StoredKeyWay)
    const go = () => enterWith(key, name)
    return html`<${KeepKey} secret=${key} working=${working} fault=${fault} onSignIn=${go}>${claimField}<//>`
  }
  if (next?.kind === 'restore') {
    const refused = (reason: string) => {
      claimFault.value = reason
      step.value = null
    }
    const done = (moment: string) => {
      restoredMoment.value = moment
      step.value = null
      typedClaim.value = null
      navigate('/', { replace: true })
      askNodeForWays().catch((error: unknown) => noticeFailure(error, texts.signIn.failed))
    }
    return html`<${RestoreBackup} claim=${claim} onRefused=${refused} onDone=${done} onBack=${back} />`
  }
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
      if (user === null) return false
      beginFirstSteps(user.uuid)
      if (await hasName(user, name)) await enter()
      return true
    }
    return html`<${AskOwner} address=${address} name=${name} send=${told.requests ? send : null} signIn=${tryAgain} onBack=${back} />`
  }
  const usable = ways.filter((way) => way.isUsable(told, again))
  const open = usable.find(({ name }) => name === chosen.value) ?? firstOf(usable, isNew)
  const others = usable.filter((way) => way !== open)
  // Their account is in another browser.
  const isElsewhere =
    !isNew && hasSiwe(told) && keptKey.value === null && chosen.value === null && open?.name !== 'code'
  const hasCodes = usable.some(({ name }) => name === 'code')
  const restore = () => {
    if (claim === '') claimFault.value = texts.signIn.claimMissing
    else step.value = { kind: 'restore' }
  }
  const choose = ({ name }: Way) => {
    chosen.value = name
  }
  const row = (shown: IconName, text: string, onClick: () => void) =>
    html`<button key=${text} type="button" class="quiet" onClick=${onClick}>${open === undefined && icon(shown)}${text}</button>`
  return html`<div class=${again ? 'sign-in again' : 'sign-in'}>
    ${!again && html`<${Head} isNew=${isNew} isForAccount=${open?.name === 'account'} />`}
    ${claimField}
    ${open && html`<${OpenWay} key=${open.name} way=${open} isChosen=${open.name === chosen.value} state=${stateOf(open.method)} run=${run} signIn=${signIn} enterWith=${enterWith} />`}
    ${isElsewhere && html`<p class="note">${texts.signIn.elsewhere(hasCodes)}</p>`}
    <div class=${open === undefined ? 'other-ways only' : 'other-ways'}>
      ${others.map((way) => row(way.icon, texts.signIn.ways[way.name], () => choose(way)))}
      ${isNew && told.restores && row('history', texts.signIn.ways.backup, restore)}
    </div>
  </div>`
}

function back(): void {
  step.value = null
}

/** Returns the way that is open before the person has chosen one. A code in the address is that of a QR code. */
function firstOf(usable: readonly Way[], isNew: boolean): Way | undefined {
  const names = firstWays[isNew ? 'unclaimed' : 'claimed']
  const found = names.map((name) => usable.find((way) => way.name === name))
  return found.find((way) => way !== undefined && (way.name !== 'code' || codeInAddress.value !== ''))
}

interface OpenWayProps {
  readonly way: Way
  readonly isChosen: boolean
  readonly state: Attempt
  readonly run: (method: SignInMethod, work: () => Promise<void>) => Promise<void>
  readonly signIn: (address: string, sign: Sign) => Promise<void>
  readonly enterWith: (key: Uint8Array) => Promise<void>
}

/** The way that is open. The focus goes to it if the person has chosen it. */
function OpenWay({ way: { method }, isChosen, state, run, signIn, enterWith }: OpenWayProps): VNode {
  const element = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    if (isChosen) element.current?.querySelector<HTMLElement>('input:not([hidden]), button, pre')?.focus()
  }, [isChosen])
  return html`<section ref=${element}>
    <${method}
      code=${codeInAddress.value}
      working=${state.working}
      fault=${state.fault}
      run=${(work: () => Promise<void>) => run(method, work)}
      signIn=${signIn}
      enterWith=${(key: Uint8Array) => enterWith(key)}
      keep=${(key: Uint8Array, name: string) => {
        step.value = { kind: 'keep', key, name }
      }}
    />
  </section>`
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
  beginFirstSteps(user.uuid)
  const fault = chosen === '' ? '' : await rename(chosen).then(() => null, reasonOf)
  if (fault !== null) step.value = { kind: 'name', name: chosen, fault }
  return fault === null
}

/** Shows the pages, to a person who has signed in. */
async function enter(): Promise<void> {
  await loadSession()
  step.value = null
  typedClaim.value = null
  restoredMoment.value = null
  if (claimInAddress.value !== '' || codeInAddress.value !== '') navigate('/', { replace: true })
}

interface HeadProps {
  /** Whether the node has no owner. */
  readonly isNew: boolean
  /** Whether the person makes an account. */
  readonly isForAccount: boolean
}

/** Says where the person is. */
function Head({ isNew, isForAccount }: HeadProps): VNode {
  const { welcome, welcomeText, title, accountTitle, restored } = texts.signIn
  const heading = isNew ? welcome : isForAccount ? accountTitle : title
  useLayoutEffect(() => setTitle(heading), [heading])
  return html`<${Mark} />
    <h1>${heading}</h1>
    <p class="hint">${isNew ? welcomeText : nodeName.value}</p>
    ${restoredMoment.value && html`<p role="status">${restored(dateText(restoredMoment.value))}</p>`}`
}

/** The field for the claim code. A code in the address is not shown, unless the node has refused it. */
function ClaimField(): VNode | null {
  const isAsked = typedClaim.value !== null || claimInAddress.value === '' || claimFault.value !== ''
  if (!isAsked) return null
  const type = ({ target }: InputEvent) => {
    typedClaim.value = (target as HTMLInputElement).value
    claimFault.value = ''
  }
  return html`<${Field}
    label=${texts.signIn.claimCode}
    hint=${texts.signIn.claimHint}
    fault=${claimFault.value}
    value=${typedClaim.value ?? claimInAddress.value}
    autocomplete="off"
    autocapitalize="characters"
    spellcheck=${false}
    onInput=${type}
  />`
}
