import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { computed, signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { html } from '../html.ts'
import { type IconName, icon } from '../icon.ts'
import { narrow } from '../media.ts'
import * as texts from '../texts.ts'
import { isThisComputer } from '../this-computer.ts'
import { place, query } from './address.ts'
import { FrameAnswer, useFrameAnswer } from './frame/frame-answer.ts'
import { shownPage } from './page-host.ts'
import { session } from './session.ts'

interface FirstStep {
  readonly name: keyof typeof texts.firstSteps.steps
  readonly icon: IconName
  readonly href: string
  /** The page that it needs. */
  readonly page: string
  /** Whether only the owner can do it. */
  readonly isOwners?: boolean
  /** Whether it can be done now: with this device, at the address that the browser uses, and with what the node has. */
  readonly isPossible?: () => boolean
}

const models = new FrameAnswer<NodeAnswers['GET /api/ai/models']>({
  path: '/api/ai/models',
  freshMs: 60_000,
  everyMs: () => null,
})

const hasModel = () => Object.values(models.value.value?.providers ?? {}).some((names) => names.length > 0)
/** Whether other devices reach the node at the address that the browser uses. */
const isReached = () => !isThisComputer()
/** Whether the device is no phone itself, most likely. */
const isLarge = () => !matchMedia(`${narrow}, (pointer: coarse)`).matches

/** In the order of their use. A person sees the first three that they can do. */
const allSteps: readonly FirstStep[] = [
  {
    name: 'network',
    icon: 'smartphone',
    href: '#/node/overlay',
    page: 'node',
    isOwners: true,
    isPossible: isThisComputer,
  },
  {
    name: 'phone',
    icon: 'smartphone',
    href: '#/account',
    page: 'account',
    isPossible: () => isReached() && isLarge(),
  },
  { name: 'backup', icon: 'shield-check', href: '#/node/backups', page: 'node', isOwners: true },
  {
    name: 'people',
    icon: 'user-plus',
    href: '#/node/users',
    page: 'node',
    isOwners: true,
    isPossible: isReached,
  },
  { name: 'photos', icon: 'image', href: '#/photos', page: 'photos' },
  // The last one, so that it moves no other one when the node has told its models.
  { name: 'chat', icon: 'message-square', href: '#/chat', page: 'chat', isPossible: hasModel },
]

const mostSteps = 3

/** Where this browser remembers who is new here, and what they have tried. */
const storageName = 'nodekeep.first-steps'

/** Then the person is not new any more, and the room is that of their files. */
const shownMs = 7 * 86_400_000

interface NewPerson {
  readonly uuid: string
  readonly tried: readonly string[]
  /** When they signed in for the first time, in milliseconds since 1970. */
  readonly since: number
}

const newPerson = signal<NewPerson | null>(remembered())

function remembered(): NewPerson | null {
  try {
    return JSON.parse(localStorage.getItem(storageName) ?? 'null')
  } catch {
    // The person may have switched off the storage.
    return null
  }
}

function remember(person: NewPerson): void {
  newPerson.value = person
  try {
    localStorage.setItem(storageName, JSON.stringify(person))
  } catch {
    // Then it lasts until the page is loaded again.
  }
}

/** Shows things to try to a person who comes for the first time. What they have tried, or closed, does not come back. */
export function beginFirstSteps(uuid: string): void {
  if (newPerson.value?.uuid !== uuid) remember({ uuid, tried: [], since: Date.now() })
}

const steps = computed(() => {
  const { user, pages = [] } = session.value ?? {}
  if (user === undefined || newPerson.value?.uuid !== user.uuid) return []
  const { tried, since } = newPerson.value
  if (!(Date.now() - since < shownMs)) return []
  const possible = allSteps.filter(
    ({ page, isOwners, isPossible = () => true }) =>
      (!isOwners || user.owner) && isPossible() && pages.some(({ name }) => name === page),
  )
  return possible.slice(0, mostSteps).filter(({ name }) => !tried.includes(name))
})

const backups = new FrameAnswer<NodeAnswers['GET /api/backup/status']>({
  path: '/api/backup/status',
  freshMs: 0,
  everyMs: (answer) => (answer?.running ? 5000 : null),
})

/** Finishes the step of the first backup, if there is one: the person may have made it by another way. */
function MadeBackup({ onMade }: { readonly onMade: () => void }): null {
  const count = useFrameAnswer(backups)?.stored.backups ?? 0
  useLayoutEffect(() => {
    if (count > 0) onMade()
  }, [count])
  return null
}

/**
 * Things to try, at the beginning of the first page: neither in a folder nor above what was searched. What was tried goes away for good,
 * everything with the button, and by itself after a week.
 */
export function FirstSteps(): VNode | null {
  const person = newPerson.value
  const shown = steps.value
  const { user, pages = [] } = session.value ?? {}
  if (person === null || person.uuid !== user?.uuid || shownPage.value !== pages[0]) return null
  if (place.value !== '/' || Object.keys(query.value).length > 0) return null
  const mayChat = !person.tried.includes('chat') && pages.some(({ name }) => name === 'chat')
  return html`${mayChat && html`<${AskForModels} />`}${shown.length > 0 && html`<${Steps} person=${person} shown=${shown} />`}`
}

/** Asks whether the node has a model. It shows nothing. */
function AskForModels(): null {
  useFrameAnswer(models)
  return null
}

interface StepsProps {
  readonly person: NewPerson
  readonly shown: readonly FirstStep[]
}

function Steps({ person, shown }: StepsProps): VNode {
  const words = texts.firstSteps
  const finish = (finished: readonly FirstStep[]) =>
    remember({ ...person, tried: [...person.tried, ...finished.map(({ name }) => name)] })
  const backup = shown.find(({ name }) => name === 'backup')
  return html`<section class="first-steps" aria-labelledby="first-steps">
    ${backup && html`<${MadeBackup} onMade=${() => finish([backup])} />`}
    <div>
      <h2 id="first-steps">${words.title}</h2>
      <button type="button" class="quiet icon-only" aria-label=${words.close} title=${words.close} onClick=${() => finish(allSteps)}>
        ${icon('x')}
      </button>
    </div>
    <ul>
      ${shown.map(
        (step) => html`<li key=${step.name}>
          <a href=${step.href} onClick=${() => finish([step])}>
            ${icon(step.icon)}
            <span>${words.steps[step.name].title}<span class="note">${words.steps[step.name].text}</span></span>
          </a>
        </li>`,
      )}
    </ul>
  </section>`
}
