import { effect, signal } from '@preact/signals'
import { nodeName } from './node-name.ts'

const shown = signal('')
effect(() => {
  document.title = shown.value === '' ? nodeName.value : `${shown.value} · ${nodeName.value}`
})

/** Names what the window shows. The name of the node stands behind it. */
export function setTitle(text: string): void {
  shown.value = text
}
