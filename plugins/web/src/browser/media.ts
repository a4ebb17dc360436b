import { useSignal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'

/** A window as narrow as that of a phone. The stylesheets have the same limit. */
export const narrow = '(max-width: 40rem)'

/** Whether a media query holds. A component with it is drawn again when that changes. */
export function useMedia(query: string): boolean {
  const holds = useSignal(matchMedia(query).matches)
  useLayoutEffect(() => {
    const list = matchMedia(query)
    const look = () => {
      holds.value = list.matches
    }
    look()
    list.addEventListener('change', look)
    return () => list.removeEventListener('change', look)
  }, [query])
  return holds.value
}
