import { signal } from '@preact/signals'

const query = matchMedia('(max-width: 40rem)')

/** Whether the window is as narrow as that of a phone. The stylesheets have the same limit. */
export const isNarrow = signal(query.matches)

query.addEventListener('change', () => {
  isNarrow.value = query.matches
})
