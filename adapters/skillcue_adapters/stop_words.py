"""Words that say nothing about which skill is meant."""

from __future__ import annotations

__all__ = ["STOP_WORDS"]

_ENGLISH = """
a about above after again against all also am an and any are aren't as at be because been before
being below between both but by can can't cannot could couldn't did didn't do does doesn't doing
don't down during each either else etc ever every few for from further get gets got had hadn't
has hasn't have haven't having he hello her here hers herself hey hi him himself his how however
i i'd i'll i'm i've if in into is isn't it it's its itself just let let's may me might more most
must my myself no nor not now of off ok okay on once only or other otherwise our ours ourselves
out over own per please same shall she should shouldn't so some sorry such than thank thanks
that that's the their theirs them themselves then there there's these they they're this those
through to too under until up upon us very via was wasn't we we're we've were weren't what when
where whether which while who whom whose why will with within without won't would wouldn't yes
yet you you'd you'll you're you've your yours yourself yourselves
"""

# Without these a library with one German skill offers it on every German message: to an index of
# English texts "und" is a rare word. Words that mean something in English ("die", "war", "hat",
# "son", "fin") are left out.
_GERMAN = """
aber als auch auf aus bei beim bin bis bitte da dann danke das dass dein deine dem den der des dich
dir doch du durch ein eine einem einen einer eines er es euch für gibt haben habe hier ich ihm ihn
ihnen ihr ihre im immer ins ist ja jetzt kann kannst kein keine können man mein meine meinen meiner
mich mir mit muss nach nicht noch nur oder ohne schon sehr sein seine seit sich sie sind so um und
uns unser unsere viel vom von vor wann warum was weil wenn wer werden wie wir wird wo zu zum zur
"""
_FRENCH = """
au aussi aux avec avoir ce cela ces cet cette comme dans de des du elle elles en est et être fait
ils je la le les leur leurs lui mais merci moi mon nos notre nous ou où par pas peut pourquoi pour
quand que quel quelle qui sa sans ses sont suis sur ta tes toi très tu un une vos votre vous
"""
_SPANISH = """
al algo como con cuando cual de del desde donde el ella ellos en entre es esta este esto está gracias
hay la las lo los más me mi mis muy nos nosotros o otra otro para pero por porque puede que quiero
quién se ser si sin sobre son su sus también te tiene tu un una uno y ya yo
"""
_ITALIAN_PORTUGUESE_DUTCH = """
che chi ci con cosa da dal dalla dei del della delle di e è gli il io loro ma mia mio nel nella non
per perché più questa questo quando sono su una uno
ao aos com como da das do dos ela ele em esta este eu isso mais mas meu minha na nas não nos o os ou
para pela pelo por quando que se sem seu sua uma você
aan bij dat deze dit een het hoe ik je kan maar met mijn naar niet nog ook om op te uit van voor wat
wel wij worden zijn zo
"""
# Subtracted: bin, DEM, DES, MIT, ES, DOS, SI, NA and the like stand for things in skills.
_MEANINGFUL = """
al as bin bis chi com con dem den des do dos es est man me met mit na nos om on op pas si sin so son
van
"""
_OTHERS = f"{_GERMAN} {_FRENCH} {_SPANISH} {_ITALIAN_PORTUGUESE_DUTCH}".split()

STOP_WORDS = frozenset(_ENGLISH.split()) | frozenset(
    word for word in _OTHERS if len(word) > 1 and word not in _MEANINGFUL.split()
)
"""English words and courtesies, and the function words of the languages skills are asked in."""
