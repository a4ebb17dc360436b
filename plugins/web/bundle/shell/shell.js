import{A as te,B as ne,C as L,D as M,E as oe,F as re,H as ae,J as v,K as se,L as V,M as I,O as le,P as w,a as G,b as o,c as f,d as O,e as h,f as y,h as g,i as j,j as J,k as i,o as B,p as X,q as T,r as S,u as Y,v as D,w as Z,x as E,y as ee,z as C}from"./chunk.js";function ie({icon:e,title:t,text:r="",children:n}){return o`<div class="empty">
    ${f(e)}
    <h2>${t}</h2>
    ${r!==""&&o`<p>${r}</p>`}
    ${n!==void 0&&o`<div class="choices">${n}</div>`}
  </div>`}var x=g(null),R=g(""),k=g(!1);function ue(e){return x.value?.answer(null),new Promise(t=>{R.value="",k.value=!1,x.value={...e,answer(r){x.value=null,t(r)}}})}function ce(){let e=x.value;if(h(()=>()=>x.value?.answer(null),[]),e===null)return null;let{title:t,text:r,field:n,agree:a,danger:s,check:u,answer:l}=e,c=async m=>{if(m.preventDefault(),k.value)return;let p=new FormData(m.target),d=String(p.get("value")??"").trim();k.value=!0;let $=await u?.(d)??null;x.value===e&&(k.value=!1,$===null?l(d):R.value=$)};return o`<${q} title=${t} selected=${n?.selected} onClose=${()=>l(null)}>
    <form onSubmit=${c}>
      ${r&&o`<p>${r}</p>`}
      ${n&&o`<label>${n.label}<input name="value" defaultValue=${n.value} autocomplete="off" autofocus /></label>`}
      <p class="fault" role="alert">${R}</p>
      <p class="buttons">
        <button type="button" onClick=${()=>l(null)}>${i.cancel}</button>
        <button type="submit" class=${s?"danger main":"main"} aria-disabled=${k.value}>${a}</button>
      </p>
    </form>
  <//>`}function q(e){let t=y(null);return h(()=>{let n=t.current;n?.showModal();let a=n?.querySelector("input[autofocus]");return a?.setSelectionRange(0,e.selected??a.value.length),()=>n?.close()},[]),o`<dialog ref=${t} onCancel=${n=>{n.preventDefault(),e.onClose()}} aria-label=${e.title}>
    <h2>${e.title}</h2>
    ${e.children}
  </dialog>`}var Ne=new V({path:"/api/system/health",freshMs:5e3,everyMs:e=>e!==null&&e.attention.length>0?1e4:6e4});function me(){let{attention:e=[]}=I(Ne)??{},t=e.length;if(t===0)return null;let r=e.every(({ok:a})=>a)?"warning":"fault",n=i.shell.attention(t);return o`<a class=${`badge attention-badge ${r}`} href=${E("/node")} aria-label=${n} title=${n}>
    ${f("bell")}${t}
  </a>`}var Pe=6;function K({name:e}){let[t="?"]=e,r=[...e].reduce((n,a)=>n+(a.codePointAt(0)??0),0);return o`<span class="avatar" data-letter=${t} data-color=${r%Pe} aria-hidden="true"></span>`}var Te=700,F=6;function Se({label:e,items:t,at:r,onClose:n,children:a}){let s=y(null),u=y({text:"",at:0});return h(()=>{let c=s.current,m=document.activeElement;if(c===null)return;c.showPopover();let p=()=>Ve(c,r);p(),addEventListener("resize",p),pe(c)[0]?.focus({preventScroll:!0});let d=({target:P})=>{[c,r].some(z=>z instanceof Element&&z.contains(P))||n()};addEventListener("pointerdown",d,{capture:!0});let{hash:$}=location,N=()=>{location.hash!==$&&n()};return addEventListener("hashchange",N),()=>{removeEventListener("pointerdown",d,{capture:!0}),removeEventListener("resize",p),removeEventListener("hashchange",N);let{activeElement:P}=document;(P===document.body||c.contains(P))&&m instanceof HTMLElement&&m.focus({preventScroll:!0})}},[]),o`<div class="menu" popover="manual" ref=${s} onKeyDown=${c=>{let m=s.current;if(m===null||c.ctrlKey||c.metaKey||c.altKey)return;let p=pe(m),d=p.indexOf(document.activeElement),$=Le(c.key,p,d,u.current);if(c.key==="Tab"||c.key==="Escape")n();else if($!==void 0)$.focus();else return;c.preventDefault()}}>
    ${a}
    <div role="menu" aria-label=${e}>
      ${t.map(c=>c===null?o`<hr />`:o`<${Ce} item=${c} onClose=${n} />`)}
    </div>
  </div>`}function Ce({item:e,onClose:t}){let{label:r,icon:n,keys:a,isDanger:s=!1,isChosen:u,refused:l}=e,c={role:u===void 0?"menuitem":"menuitemradio",tabindex:-1,class:s?"danger":"","aria-checked":u,"aria-disabled":l===void 0?void 0:!0,title:l},m=o`
    ${typeof n=="string"?f(n):n}
    <span>${r}</span>
    ${a!==void 0&&o`<kbd aria-hidden="true">${a}</kbd>`}
    ${u===!0&&o`<span class="end">${f("check")}</span>`}
  `;if("href"in e){let d=e.isCurrent===!0?"page":void 0;return o`<a ...${c} href=${e.href} aria-current=${d} onClick=${t}>${m}</a>`}return o`<button type="button" ...${c} aria-keyshortcuts=${a} onClick=${()=>{l===void 0&&(t(),queueMicrotask(e.run))}}>${m}</button>`}function H({label:e,items:t,head:r,children:n,...a}){let s=y(null),u=J(!1),l=()=>{u.value=!u.value},c=()=>{u.value=!1};return o`<button
      type="button"
      ...${a}
      ref=${s}
      aria-label=${e}
      aria-haspopup="menu"
      aria-expanded=${u.value}
      onClick=${l}
    >${n}</button>
    ${u.value&&s.current&&o`<${Se} label=${e} items=${t} at=${s.current} onClose=${c}>${r}<//>`}`}function pe(e){return[...e.querySelectorAll('[role^="menuitem"]')]}function Le(e,t,r,n){if(e==="ArrowDown")return t[(r+1)%t.length];if(e==="ArrowUp")return t.at(r<=0?-1:r-1);if(e==="Home")return t[0];if(e==="End")return t.at(-1);if(e.length!==1||e===" ")return;let a=performance.now();n.text=(a-n.at<Te?n.text:"")+e.toLocaleLowerCase(),n.at=a;let s=n.text.length===1?r+1:r;return[...t.slice(s),...t.slice(0,s)].find(({innerText:l})=>l.trim().toLocaleLowerCase().startsWith(n.text))}function Ve(e,t){e.style.left="0";let{width:r,height:n}=e.getBoundingClientRect(),a=(d,$,N)=>Math.max(F,Math.min(d,N-$-F)),s=t instanceof Element?t.getBoundingClientRect():new DOMRect(t.x,t.y,0,0),u=t instanceof Element?F:0,l=s.left+s.width/2<innerWidth/2||!(t instanceof Element),c=s.bottom+u+n+F<=innerHeight||s.top<innerHeight-s.bottom,m=l?s.left:s.right-r,p=c?s.bottom+u:s.top-u-n;e.style.left=`${a(m,r,innerWidth)}px`,e.style.top=`${a(p,n,innerHeight)}px`}function A(){return o`<a class="product" href="#/"><img src="/web/icon.svg" alt="" /><span>${L}</span></a>`}function de({bytes:e,space:t,legend:r}){let{free:n,total:a}=t,s=Math.max(0,a-n-e),u=l=>({width:`${100*Math.min(Math.max(l,0),a)/Math.max(a,1)}%`});return o`<span class="usage-bar" aria-hidden="true">
      <span class=${e>0?"own":""} style=${u(e)}></span>
      <span class="others" style=${u(s)}></span>
    </span>
    ${r&&o`<span class="usage-legend">
        <span class="own">${r.own(w(e))}</span>
        ${s>0&&o`<span class="others">${r.others(w(s))}</span>`}
        <span>${i.usage.legend.free(w(n))}</span>
      </span>`}`}var Ie=new V({path:"/api/files/usage?path=/",freshMs:3e4,everyMs:e=>e?.isComplete===!1?2e3:null});function fe(){let e=I(Ie);if(e===null)return null;let{bytes:t,kept:r,quota:n,space:a}=e,s=n?.taken??t+r.trash+r.versions,u=n?.bytes??a?.total,l=n?Math.max(0,n.bytes-n.taken):a?.free,{roomUsed:c,roomOf:m}=i.shell;if(u===void 0||l===void 0)return o`<p class="room">${c(w(s))}</p>`;let p={own:n?d=>m(d,w(u)):c,others:i.usage.legend.otherThings};return o`<p class="room"><${de} bytes=${s} space=${{free:l,total:u}} legend=${p} /></p>`}var Fe=4;function he({pages:e}){let t=S(T),r=e.filter(({place:l})=>l==="tab").slice(0,Fe),n=t?r:e.filter(({place:l})=>l==="tab"||l==="side"),a=e.filter(l=>l.place!=="user"&&!n.includes(l)),s=v.value?.name,u=a.some(({name:l})=>l===s);return o`<nav class="side" aria-label=${i.shell.navigation}>
    <${A} />
    <ul>
      ${n.map(({name:l,title:c,icon:m})=>o`<li key=${l}>
          <a href=${E(`/${l}`)} aria-current=${l===s?"page":void 0}>
            ${O(m)}<span>${c}</span>
          </a>
        </li>`)}
      ${a.length>0&&o`<li>
          <${H} label=${i.shell.more} items=${U(a)} aria-current=${u?"true":void 0}>
            ${f("ellipsis")}<span>${i.shell.more}</span>
          <//>
        </li>`}
    </ul>
    ${!t&&e.some(({name:l})=>l==="files")&&o`<${fe} />`}
  </nav>`}function U(e){return e.map(({name:t,title:r,icon:n})=>({label:r,icon:O(n),href:E(`/${t}`),isCurrent:t===v.value?.name}))}var Q=["light","dark","system"],$e="nodekeep-theme",b=g(ye());j(()=>{let{dataset:e}=document.documentElement;b.value==="system"?delete e.theme:e.theme=b.value;for(let t of document.querySelectorAll("meta[data-scheme]")){let{scheme:r}=t.dataset;b.value==="system"?t.media=`(prefers-color-scheme: ${r})`:t.media=r===b.value?"all":"not all"}});addEventListener("storage",()=>{b.value=ye()});function ge(e){b.value=e;try{localStorage.setItem($e,e)}catch{}}function ye(){try{let e=localStorage.getItem($e);return Q.find(t=>t===e)??"system"}catch{return"system"}}var He={light:"sun",dark:"moon",system:"monitor"};function ve({user:e,pages:t}){let r=[...U(t.filter(({place:a})=>a==="user")),null,...Q.map(a=>({label:i.shell.themes[a],icon:He[a],isChosen:b.value===a,run:()=>ge(a)})),null,{label:i.shell.signOut,icon:"log-out",run:()=>{Ae()}}],n=o`<p class="person-head"><${K} name=${e.username} /><b>${e.username}</b></p>`;return o`<${H} class="person" label=${i.shell.menuOf(e.username)} items=${r} head=${n}>
    <${K} name=${e.username} />
  <//>`}async function Ae(){let{signOut:e,signOutTitle:t,signOutText:r}=i.shell;if(!(Oe()&&await ue({title:t,text:r,agree:e})===null))try{await ae(),ee(i.shell.signedOut)}catch(n){C(n,i.shell.requestFailed)}}function Oe(){return!dispatchEvent(new Event("beforeunload",{cancelable:!0}))}var Be='input:not([type="checkbox"]), textarea, select',De="dialog[open], :popover-open, .viewer";function be({target:e}){return!(e instanceof Element&&e.matches(Be))&&document.querySelector(De)===null}var Re=200,W="files";function xe(){let e=y(null),t=we(),r=S(T);h(()=>{let a=we();e.current!==null&&e.current.value!==a&&(e.current.value=a)},[t]),h(()=>{let a=s=>{let{key:u,ctrlKey:l,metaKey:c,altKey:m}=s;u!=="/"||l||c||m||!be(s)||(s.preventDefault(),e.current?.focus(),e.current?.select())};return addEventListener("keydown",a),()=>removeEventListener("keydown",a)},[]);let n=({currentTarget:a})=>{let s=a.value,u=v.peek()?.name===W;if(s===""&&!u)return;let l=u?Y.peek():"/";Z(`/${W}${l==="/"?"":l}`,{query:s===""?{}:{search:s},replace:u&&D.peek().search!==void 0})};return o`<search>
    ${f("search")}
    <input
      type="search"
      ref=${e}
      defaultValue=${t}
      placeholder=${r?i.shell.searchShort:i.shell.search}
      aria-label=${i.shell.search}
      aria-keyshortcuts="/"
      maxlength=${Re}
      autocomplete="off"
      spellcheck=${!1}
      onInput=${n}
    />
    ${qe()&&o`<kbd aria-hidden="true">/</kbd>`}
  </search>`}function we(){return v.value?.name===W?D.value.search??"":""}function qe(){return matchMedia("(hover: hover) and (pointer: fine)").matches}var Ee=g(null),Me=g(!1);async function Ke(){try{Ee.value??=(await import("./sign-in.js")).SignIn}catch{Me.value=!0}}function _(e){h(()=>{Ke()},[]);let t=Ee.value;return t!==null?o`<${t} ...${e} />`:Me.value?o`<p role="alert">${i.shell.pageFailed(i.signIn.title)}</p>
    <p><button type="button" onClick=${()=>location.reload()}>${i.shell.reload}</button></p>`:o`<p class="hint">${i.shell.loading}</p>`}function Ue(){let e=oe.value;return o`
    <a class="skip" href="#content" onClick=${Qe}>${i.shell.skip}</a>
    <p class="away" role="status">${B.value&&i.shell.away}</p>
    ${M.value&&o`<${he} pages=${M.value.pages} />`}
    <${We} />
    <${le} />
    <${_e} />
    <${te} />
    <${ce} />
    ${e&&o`<${q} title=${i.signIn.againTitle} onClose=${()=>e.end(!1)}>
        <p>${i.signIn.again}</p>
        <${_} again />
        <p class="buttons"><button type="button" onClick=${()=>e.end(!1)}>${i.cancel}</button></p>
      <//>`}
  `}function Qe(e){e.preventDefault(),document.getElementById("content")?.focus()}function We(){let e=M.value;return o`<header class="top">
    <${A} />
    ${e?.search&&o`<${xe} />`}
    ${e&&o`<div class="end">
        ${e.user.owner&&o`<${me} />`}
        <${ve} user=${e.user} pages=${e.pages} />
      </div>`}
  </header>`}function _e(){let e=M.value;if(e===void 0){let{loading:n,awayTitle:a,awayText:s}=i.shell;return o`<main id="content">
      ${B.value?o`<h1 class="unseen">${L.value}</h1><${ie} icon="wifi-off" title=${a} text=${s} />`:o`<p class="hint">${n}</p>`}
    </main>`}if(e===null)return o`<main id="content" tabindex="-1" class="narrow"><${_} /></main>`;let t=v.value;if(t!==void 0)return o`<${se} key=${t.name} page=${t} user=${e.user} />`;let r=e.pages.length===0?i.shell.noPages:i.shell.noPage;return o`<main id="content" tabindex="-1" class="narrow"><p>${r}</p></main>`}async function ze(){await re(),X()&&ne()&&location.reload()}G(o`<${Ue} />`,document.body);ze().catch(e=>C(e,i.shell.requestFailed));
